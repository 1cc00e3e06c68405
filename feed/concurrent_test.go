package feed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// TestFeed_isReadWhileItIsWritten is for the race detector, too.
func TestFeed_isReadWhileItIsWritten(t *testing.T) {
	const commits, each = 200, 10
	db := memory(t)
	f := open(t, db, &feed.Options[post]{
		Sublogs: sublogs(), Retention: feed.Retention{Count: 500},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var readers, follower sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			agree := func(tx *stoat.Tx) error { return inconsistency(tx, f) }
			for again := true; again; again = ctx.Err() == nil {
				if err := db.View(agree); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	follower.Go(func() {
		if err := followTo(t.Context(), db, f, commits*each-1); err != nil {
			t.Error(err)
		}
	})
	for range commits {
		appendAll(t, db, f, numbered(each)...)
	}
	follower.Wait() // for the newest entry, which retention keeps
	cancel()
	readers.Wait()
}

// followTo reads entries live up to the last one. It may miss only those that retention removes.
func followTo(ctx context.Context, db *stoat.DB, f *feed.Feed[post], last uint64) error {
	next := uint64(0)
	for e, err := range f.Query().Live(ctx, db) {
		if err != nil {
			return err
		}
		if e.Seq != next {
			oldest, err := first(db, f)
			if err != nil || e.Seq > oldest || e.Seq < next {
				return errors.Join(fmt.Errorf("entry %d comes when %d is next, and %d the oldest",
					e.Seq, next, oldest), err)
			}
		}
		if next = e.Seq + 1; e.Seq == last {
			return nil
		}
	}
	return fmt.Errorf("the loop has ended before entry %d", next)
}

// first returns the oldest entry.
func first(db *stoat.DB, f *feed.Feed[post]) (at uint64, err error) {
	err = db.View(func(tx *stoat.Tx) error {
		at, err = f.First(tx)
		return err
	})
	return at, err
}

// inconsistency returns an error unless entries, sublogs and counters of one moment agree.
func inconsistency(tx *stoat.Tx, f *feed.Feed[post]) error {
	oldest, err := f.First(tx)
	if err != nil {
		return err
	}
	next, err := f.Len(tx)
	if err != nil {
		return err
	}
	for name, q := range map[string]feed.Query[post]{
		"all":     f.Query(),
		"authors": f.Query().Where(feed.In("author", "alice").Or(feed.In("author", "bob"))),
	} {
		if n, err := q.Count(tx); err != nil || n != next-oldest {
			wrong := fmt.Errorf("%s: the count of %d to %d is %d", name, oldest, next, n)
			return errors.Join(wrong, err)
		}
		seq := oldest
		for e, err := range q.All(tx) {
			if err != nil || e.Seq != seq {
				wrong := fmt.Errorf("%s: entry %d comes in place of %d", name, e.Seq, seq)
				return errors.Join(wrong, err)
			}
			seq++
		}
		if seq != next {
			return fmt.Errorf("%s: the entries end at %d of %d", name, seq, next)
		}
	}
	return nil
}
