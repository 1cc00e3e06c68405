package feed_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// wantKept wants a feed to have the entries from first up to but without next.
func wantKept[T any](t testing.TB, db *stoat.DB, f *feed.Feed[T], first, next uint64) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) {
		t.Helper()
		gotFirst, err := f.First(tx)
		ok(t, err)
		gotNext, err := f.Len(tx)
		ok(t, err)
		if gotFirst != first || gotNext != next {
			t.Errorf("kept are %d to %d, want %d to %d", gotFirst, gotNext, first, next)
		}
		equal(t, uint64(len(seqs(t, tx, f.Query()))), next-first)
	})
}

func TestRetain_byEachLimit(t *testing.T) {
	db, c := memory(t), newClock()
	f := open(t, db, &feed.Options[[]byte]{Now: c.Now})
	for range 10 { // at 0, 1, … 9 seconds
		appendAll(t, db, f, make([]byte, 100))
		c.now = c.now.Add(time.Second)
	}
	retain := func(r feed.Retention) {
		t.Helper()
		update(t, db, func(tx *stoat.Tx) { ok(t, f.Retain(tx, r)) })
	}
	retain(feed.Retention{})
	wantKept(t, db, f, 0, 10)
	retain(feed.Retention{Count: 20, Bytes: 5000, Age: time.Hour})
	wantKept(t, db, f, 0, 10)
	retain(feed.Retention{Count: 9})
	wantKept(t, db, f, 1, 10)
	retain(feed.Retention{Age: 8 * time.Second})
	wantKept(t, db, f, 2, 10)
	retain(feed.Retention{Bytes: 700})
	wantKept(t, db, f, 3, 10)
	retain(feed.Retention{Count: 5, Bytes: 600})
	wantKept(t, db, f, 5, 10)
	retain(feed.Retention{Bytes: 1})
	wantKept(t, db, f, 10, 10)
	appendAll(t, db, f, []byte("x"))
	wantKept(t, db, f, 10, 11)
}

func TestRetention_isAppliedAsEntriesAreAppended(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{
		Sublogs: sublogs(), Retention: feed.Retention{Count: 100},
	})
	for i := range 300 {
		appendAll(t, db, f, numbered(1)...)
		update(t, db, func(tx *stoat.Tx) { // which must not put it off
			seq, err := f.Len(tx)
			ok(t, err)
			ok(t, f.Redact(tx, seq-1))
		})
		view(t, db, func(tx *stoat.Tx) {
			first, err := f.First(tx)
			ok(t, err)
			kept := i + 1 - int(first)
			if kept > 107 || kept < min(i+1, 100) {
				t.Fatalf("%d of %d entries are kept", kept, i+1)
			}
		})
	}
}

func TestRetention_removesChunksOfSublogs(t *testing.T) {
	db := memory(t)
	const start = 1<<16 - 200
	startAt(t, db, start)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, post{Author: "old"})
	appendAll(t, db, f, numbered(400)...)
	update(t, db, func(tx *stoat.Tx) {
		ok(t, f.Redact(tx, start+7))
		ok(t, f.Retain(tx, feed.Retention{Count: 100}))
	})
	wantKept(t, db, f, start+301, start+401)
	view(t, db, func(tx *stoat.Tx) {
		for a, err := range f.Addresses(tx, "author") {
			ok(t, err)
			if a.Count != 50 {
				t.Errorf("%d entries of %s", a.Count, a.Name)
			}
		}
		for _, name := range []string{"redacted", "sublogs/author"} {
			if n := keysBelow(t, tx, name); n > 0 {
				t.Errorf("%d posting lists of chunks that are gone are left in %s", n, name)
			}
		}
	})
}

func TestRetain_withinALoopTakesEntriesFromIt(t *testing.T) {
	for _, every := range []int{1, 50} { // read at a stretch, and one by one
		db := memory(t)
		f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
		all := numbered(1000)
		for i := range all {
			all[i].Author = fmt.Sprint("author ", i%every)
		}
		appendAll(t, db, f, all...)
		update(t, db, func(tx *stoat.Tx) {
			last := uint64(0)
			for e, err := range f.Query().Where(feed.In("author", "author 0")).All(tx) {
				ok(t, err)
				last = e.Seq
				if e.Seq == 100 {
					ok(t, f.Retain(tx, feed.Retention{Count: 1}))
				}
			}
			if every == 50 {
				equal(t, last, 100)
			}
			equal(t, uint64(len(seqs(t, tx, f.Query()))), 1)
		})
	}
}

// keysBelow returns how many keys a bucket of the feed has below the second chunk.
func keysBelow(t testing.TB, tx *stoat.Tx, name string) int {
	t.Helper()
	b, err := tx.Bucket([]byte("feed"))
	ok(t, err)
	switch name {
	case "redacted":
		b, err = b.Bucket([]byte("redacted"))
	default:
		b, err = b.Bucket([]byte("sublogs"))
		ok(t, err)
		b, err = b.Bucket([]byte("author"))
	}
	ok(t, err)
	n := 0
	for range b.Keys(stoat.Range{End: []byte{0, 0, 0, 0, 0, 1, 0, 0}}) {
		n++
	}
	return n
}

func TestSince_findsTheFirstEntryFromATimeOn(t *testing.T) {
	db, c := memory(t), newClock()
	f := open(t, db, &feed.Options[post]{Now: c.Now})
	start := c.now
	for range 5 {
		appendAll(t, db, f, post{}, post{})
		c.now = c.now.Add(time.Second)
	}
	view(t, db, func(tx *stoat.Tx) {
		for after, want := range map[time.Duration]uint64{
			-time.Hour: 0, 0: 0, 1500 * time.Millisecond: 4, 2 * time.Second: 4, time.Hour: 10,
		} {
			got, err := f.Since(tx, start.Add(after))
			ok(t, err)
			if got != want {
				t.Errorf("%s after the start is %d, want %d", after, got, want)
			}
		}
	})
}
