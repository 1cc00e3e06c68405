package feed_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// TestFeed_isReadWhileItIsWritten is for the race detector, too.
func TestFeed_isReadWhileItIsWritten(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{
		Sublogs: sublogs(), Retention: feed.Retention{Count: 500},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				view(t, db, func(tx *stoat.Tx) { wantConsistent(t, tx, f) })
			}
		})
	}
	readers.Go(func() {
		next := uint64(0)
		for e, err := range f.Query().Live(ctx, db) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			if e.Seq < next || e.Seq > next && next > 0 {
				at, err := first(db, f)
				if err != nil || e.Seq > at || e.Seq < next {
					t.Errorf("entry %d comes behind %d: %v", e.Seq, next, err)
				}
			}
			next = e.Seq + 1
		}
	})
	for range 200 {
		appendAll(t, db, f, numbered(10)...)
	}
	cancel()
	readers.Wait()
}

// first returns the oldest entry.
func first(db *stoat.DB, f *feed.Feed[post]) (at uint64, err error) {
	err = db.View(func(tx *stoat.Tx) error {
		at, err = f.First(tx)
		return err
	})
	return at, err
}

// wantConsistent wants entries, sublogs and counters of one moment to agree.
func wantConsistent(t *testing.T, tx *stoat.Tx, f *feed.Feed[post]) {
	oldest, err := f.First(tx)
	ok(t, err)
	next, err := f.Len(tx)
	ok(t, err)
	for _, q := range []feed.Query[post]{
		f.Query(), f.Query().Where(feed.In("author", "alice").Or(feed.In("author", "bob"))),
	} {
		count, err := q.Count(tx)
		ok(t, err)
		equal(t, count, next-oldest)
		seq := oldest
		for e, err := range q.All(tx) {
			ok(t, err)
			equal(t, e.Seq, seq)
			seq++
		}
		equal(t, seq, next)
	}
}
