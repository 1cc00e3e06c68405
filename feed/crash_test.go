package feed_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// TestConsume_survivesACrash goes on, again and again, with what the disk has in the middle of a
// batch.
func TestConsume_survivesACrash(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "0")
	for i := range uint64(6) {
		db, err := stoat.Open(name, nil)
		ok(t, err)
		f := open(t, db, &feed.Options[post]{Batch: 4, Sublogs: sublogs()})
		appendAll(t, db, f, numbered(10)...)

		crash := filepath.Join(root, string(rune('1'+i)))
		ctx, cancel := context.WithCancel(t.Context())
		err = f.Consume(ctx, db, "c", func(tx *stoat.Tx, e feed.Entry[post]) error {
			if e.Seq == i*10+4+i {
				copyFolder(t, crash, name)
				cancel()
			}
			return record(tx, e)
		})
		wantErr(t, err, context.Canceled)
		ok(t, db.Close())
		name = crash
	}
	db, err := stoat.Open(name, nil)
	ok(t, err)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	view(t, db, func(tx *stoat.Tx) {
		at, err := f.Cursor(tx, "c")
		ok(t, err)
		if at < 45 || at > 59 {
			t.Errorf("the consumer is at %d", at)
		}
		count, err := f.Query().Where(feed.In("author", "bob")).Count(tx)
		ok(t, err)
		equal(t, count, 30)
	})
	consumeTo(t, db, f, "c", 59)
	wantHandled(t, db, upTo(60)...)
	ok(t, db.Close())
}

// copyFolder copies a database that is in use to a new folder, at a moment when its files stay what
// they are.
func copyFolder(t testing.TB, to, from string) {
	t.Helper()
	for {
		before := listing(t, from)
		err := os.CopyFS(to, os.DirFS(from))
		if err == nil && maps.Equal(before, listing(t, from)) {
			return
		}
		ok(t, os.RemoveAll(to))
	}
}

// listing returns the sizes of the files in a folder.
func listing(t testing.TB, name string) map[string]int64 {
	t.Helper()
	files, err := os.ReadDir(name)
	ok(t, err)
	sizes := make(map[string]int64)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			sizes[f.Name()] = info.Size()
		}
	}
	return sizes
}

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
