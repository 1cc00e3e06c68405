package feed_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

func TestAppend_numbersWithoutHoles(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(2)...)
	errBack := errors.New("back")
	wantErr(t, db.Update(func(tx *stoat.Tx) error {
		seq, err := f.Append(tx, &post{})
		ok(t, err)
		equal(t, seq, 2)
		return errBack
	}), errBack)
	appendAll(t, db, f, numbered(2)...)
	wantSeqs(t, db, f.Query(), 0, 1, 2, 3)
}

func TestGet_opensNoMoreThanItNeeds(t *testing.T) {
	db := memory(t)
	f := open[[]byte](t, db, nil)
	appendAll(t, db, f, []byte("x"))
	// Not in a View, which takes its transactions from a pool, or not.
	allocs := func(read func(tx *stoat.Tx) error) float64 {
		return testing.AllocsPerRun(100, func() {
			tx, err := db.Begin(false)
			ok(t, err)
			ok(t, read(tx))
			ok(t, tx.Rollback())
		})
	}
	none := allocs(func(*stoat.Tx) error { return nil })
	one := allocs(func(tx *stoat.Tx) error { _, err := f.Get(tx, 0); return err })
	if n := one - none; n > 12 { // a bucket more takes two
		t.Errorf("%v allocations", n)
	}
}

func TestAppend_sharesATransactionBetweenHandles(t *testing.T) {
	db := memory(t)
	a, b := open[post](t, db, nil), open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	update(t, db, func(tx *stoat.Tx) {
		for i := range 6 {
			f := []*feed.Feed[post]{a, b}[i%2]
			seq, err := f.Append(tx, &post{Author: "x"})
			ok(t, err)
			equal(t, seq, uint64(i))
		}
	})
	wantSeqs(t, db, b.Query().Where(feed.In("author", "x")), 0, 1, 2, 3, 4, 5)
}

func TestAppend_inAHookThatRunsLast(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	update(t, db, func(tx *stoat.Tx) {
		_, err := f.Append(tx, &post{Author: "x"})
		ok(t, err)
		ok(t, tx.BeforeCommit(func() error {
			_, err := f.Append(tx, &post{Author: "x"})
			return err
		}))
	})
	wantSeqs(t, db, f.Query().Where(feed.In("author", "x")), 0, 1)
}

func TestAppend_refusesWhatCannotBeStored(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	update(t, db, func(tx *stoat.Tx) {
		_, err := f.Append(tx, &post{Author: strings.Repeat("x", 65_001)})
		wantErr(t, err, stoat.ErrTooLarge)
		if _, err := f.Append(tx, nil); err == nil {
			t.Error("nil was appended")
		}
		seq, err := f.Append(tx, &post{Author: strings.Repeat("x", 65_000)})
		ok(t, err)
		equal(t, seq, 0)
	})
	view(t, db, func(tx *stoat.Tx) {
		_, err := f.Append(tx, &post{})
		wantErr(t, err, stoat.ErrReadOnly)
		wantErr(t, f.Redact(tx, 0), stoat.ErrReadOnly)
		wantErr(t, f.Retain(tx, feed.Retention{Count: 1}), stoat.ErrReadOnly)
	})
	tx, err := db.Begin(false)
	ok(t, err)
	ok(t, tx.Rollback())
	_, err = f.Get(tx, 0)
	wantErr(t, err, stoat.ErrTxClosed)
}

func TestAppend_neverGoesBackInTime(t *testing.T) {
	db, c := memory(t), newClock()
	f := open(t, db, &feed.Options[post]{Now: c.Now})
	start := c.now
	appendAll(t, db, f, post{})
	c.now = start.Add(-1e12)
	appendAll(t, db, f, post{})
	view(t, db, func(tx *stoat.Tx) {
		for e, err := range f.Query().All(tx) {
			ok(t, err)
			if !e.At.Equal(start) {
				t.Errorf("entry %d is of %s, want %s", e.Seq, e.At, start)
			}
		}
	})
}

func TestRedact_leavesANumberWithoutAValue(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, numbered(6)...)
	update(t, db, func(tx *stoat.Tx) {
		ok(t, f.Redact(tx, 2))
		ok(t, f.Redact(tx, 2))
		_, err := f.Get(tx, 2)
		wantErr(t, err, feed.ErrRedacted)
	})
	alice := f.Query().Where(feed.In("author", "alice"))
	wantSeqs(t, db, f.Query().Limit(3), 0, 1, 3)
	wantSeqs(t, db, f.Query().Limit(3).WithRedacted(), 0, 1, 2)
	wantSeqs(t, db, alice, 0, 4)
	wantSeqs(t, db, alice.WithRedacted(), 0, 2, 4)
	view(t, db, func(tx *stoat.Tx) {
		e, err := alice.WithRedacted().Nth(tx, 1)
		ok(t, err)
		if e.Seq != 2 || !e.Redacted || e.Value.Author != "" {
			t.Errorf("found %+v", e)
		}
	})
}

func TestFeed_storesBytesAsTheyAre(t *testing.T) {
	db := memory(t)
	f := open[[]byte](t, db, nil)
	appendAll(t, db, f, []byte("one"), nil, []byte("three"))
	view(t, db, func(tx *stoat.Tx) {
		for i, want := range []string{"one", "", "three"} {
			got, err := f.Get(tx, uint64(i))
			ok(t, err)
			equal(t, string(got), want)
		}
	})
}

func TestFeed_storesJSON(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[map[string]int]{Encoding: feed.EncodingJSON})
	appendAll(t, db, f, map[string]int{"a": 1}, nil)
	view(t, db, func(tx *stoat.Tx) {
		got, err := f.Get(tx, 0)
		ok(t, err)
		equal(t, fmt.Sprint(got), "map[a:1]")
		got, err = f.Get(tx, 1)
		ok(t, err)
		equal(t, fmt.Sprint(got), "map[]")
	})
}

func TestOpen_readsEntriesOfAnOlderType(t *testing.T) {
	type newer struct {
		By     string `stoat:"by,was=Author"`
		Text   []byte
		Rating int
	}
	db := memory(t)
	old := open[post](t, db, nil)
	appendAll(t, db, old, numbered(2)...)
	f := open(t, db, &feed.Options[newer]{Sublogs: map[string]func(*newer) []string{
		"by": func(n *newer) []string { return []string{n.By} },
	}})
	appendAll(t, db, f, newer{By: "alice", Text: []byte("new"), Rating: 5})
	view(t, db, func(tx *stoat.Tx) {
		got, err := f.Get(tx, 1)
		ok(t, err)
		equal(t, fmt.Sprintf("%s %s %d", got.By, got.Text, got.Rating), "bob text 1 0")
		before, err := old.Get(tx, 2) // by a handle that did not know the schema
		ok(t, err)
		equal(t, before.Text, "new")
	})
	wantSeqs(t, db, f.Query().Where(feed.In("by", "alice")), 0, 2)

	_, err := feed.Open[struct{ Text int }](db, "feed", nil)
	if err == nil || !strings.Contains(err.Error(), "Text") {
		t.Errorf("a string has become a number: %v", err)
	}
	_, err = feed.Open[[]byte](db, "feed", nil)
	if err == nil || !strings.Contains(err.Error(), "stored as") {
		t.Errorf("structs have become bytes: %v", err)
	}
	_, err = feed.Open[int](db, "numbers", nil)
	if err == nil || !strings.Contains(err.Error(), "EncodingJSON") {
		t.Errorf("a feed of numbers: %v", err)
	}
}

func TestOpen_indexesNewSublogs(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	const n = 1<<16 + 300 // more than one commit indexes
	appendAll(t, db, f, numbered(n)...)
	update(t, db, func(tx *stoat.Tx) { ok(t, f.Redact(tx, 4)) })

	indexed := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	bob := indexed.Query().Where(feed.In("author", "bob"))
	wantSeqs(t, db, bob.From(n-4), n-3, n-1)
	view(t, db, func(tx *stoat.Tx) {
		count, err := bob.Count(tx)
		ok(t, err)
		equal(t, count, n/2)
		count, err = indexed.Query().Count(tx)
		ok(t, err)
		equal(t, count, n-1)
		e, err := bob.Reverse().Nth(tx, n/2-1)
		ok(t, err)
		equal(t, e.Seq, 1)
	})

	appendAll(t, db, f, numbered(2)...) // by a handle that does not know the sublogs
	view(t, db, func(tx *stoat.Tx) {
		_, err := bob.Count(tx)
		if err == nil || !strings.Contains(err.Error(), "without the sublog") {
			t.Errorf("a sublog that lacks entries is used: %v", err)
		}
	})
	appendAll(t, db, indexed, numbered(2)...)
	wantSeqs(t, db, bob.From(n), n+1, n+3)
}

func TestOpen_writesNothingToACompleteFeed(t *testing.T) {
	dir := t.TempDir()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	options := &feed.Options[post]{Sublogs: sublogs()}
	f := open(t, db, options)
	at := db.Position()
	open(t, db, options)
	equal(t, db.Position(), at)
	appendAll(t, db, f, numbered(3)...)
	ok(t, db.Close())

	db, err = stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	f = open(t, db, options)
	wantSeqs(t, db, f.Query().Where(feed.In("author", "alice")), 0, 2)
	_, err = feed.Open[post](db, "another", nil)
	wantErr(t, err, stoat.ErrReadOnly)
	ok(t, db.Close())
}

func TestOpen_refusesWrongOptions(t *testing.T) {
	db := memory(t)
	for name, o := range map[string]*feed.Options[post]{
		"function":  {Sublogs: map[string]func(*post) []string{"x": nil}},
		"retention": {Retention: feed.Retention{Count: -1}},
		"batch":     {Batch: -1},
		"encoding":  {Encoding: 9},
	} {
		if _, err := feed.Open(db, "feed", o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	_, err := feed.Open[post](db, "", nil)
	wantErr(t, err, stoat.ErrInvalidKey)
	update(t, db, func(tx *stoat.Tx) {
		_, err := tx.CreateBucket([]byte("mine"))
		ok(t, err)
	})
	_, err = feed.Open[post](db, "mine", nil)
	if err == nil || !strings.Contains(err.Error(), "not a feed") {
		t.Errorf("a bucket has become a feed: %v", err)
	}
}

func TestQuery_reportsUnknownSublogs(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(1)...)
	view(t, db, func(tx *stoat.Tx) {
		steps := 0
		for _, err := range f.Query().Where(feed.In("author", "alice")).All(tx) {
			if err == nil || !strings.Contains(err.Error(), `no sublog "author"`) {
				t.Errorf("error %v", err)
			}
			steps++
		}
		equal(t, steps, 1)
		for _, err := range f.Addresses(tx, "author") {
			if err == nil {
				t.Error("no error")
			}
		}
	})
}

func TestNewest_choosesTheLastInOrder(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, numbered(9)...)
	update(t, db, func(tx *stoat.Tx) { ok(t, f.Redact(tx, 7)) })
	bob := f.Query().Where(feed.In("author", "bob"))
	wantSeqs(t, db, f.Query().Newest(3), 5, 6, 8)
	wantSeqs(t, db, f.Query().Newest(3).Newest(5).Newest(0), 5, 6, 8)
	wantSeqs(t, db, f.Query().Newest(3).Reverse().Limit(2), 8, 6)
	wantSeqs(t, db, f.Query().Newest(3).Before(4), 1, 2, 3)
	wantSeqs(t, db, bob.Newest(2), 3, 5)
	wantSeqs(t, db, bob.Newest(9), 1, 3, 5)
	wantSeqs(t, db, bob.Newest(2).WithRedacted(), 5, 7)
	view(t, db, func(tx *stoat.Tx) {
		n, err := bob.Newest(2).Count(tx)
		ok(t, err)
		equal(t, n, 2)
		e, err := bob.Newest(2).Nth(tx, 1)
		ok(t, err)
		equal(t, e.Seq, 5)
	})
}

func TestLast_isTheEntryThatComesLast(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	last := func(q feed.Query[post]) (e feed.Entry[post], err error) {
		view(t, db, func(tx *stoat.Tx) { e, err = q.Last(tx) })
		return e, err
	}
	_, err := last(f.Query())
	wantErr(t, err, stoat.ErrNotFound)
	_, err = last(f.Query().Limit(3))
	wantErr(t, err, stoat.ErrNotFound)
	appendAll(t, db, f, numbered(9)...)
	for want, q := range map[uint64]feed.Query[post]{
		8: f.Query(), 7: f.Query().Where(feed.In("author", "bob")), 3: f.Query().Limit(4),
		0: f.Query().Reverse(), 5: f.Query().Reverse().Limit(4), 6: f.Query().Newest(3).Limit(1),
	} {
		e, err := last(q)
		ok(t, err)
		equal(t, e.Seq, want)
		equal(t, e.Value.Text, fmt.Sprint("text ", want))
	}
}

func TestQuery_seesWhatThereIsWhenItStarts(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, numbered(4)...)
	for _, q := range []feed.Query[post]{
		f.Query(), f.Query().Where(feed.In("author", "alice", "bob")),
	} {
		update(t, db, func(tx *stoat.Tx) {
			before, err := f.Len(tx)
			ok(t, err)
			var got []uint64
			for e, err := range q.All(tx) {
				ok(t, err)
				got = append(got, e.Seq)
				_, err = f.Append(tx, &post{Author: "bob"})
				ok(t, err)
			}
			if uint64(len(got)) != before || !slices.IsSorted(got) {
				t.Errorf("of %d entries, %v were found", before, got)
			}
		})
	}
}

func TestDropSublog_removesItUntilItIsOpenedAgain(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, numbered(3)...)
	without := open[post](t, db, nil)
	update(t, db, func(tx *stoat.Tx) {
		if err := f.DropSublog(tx, "tag"); err == nil {
			t.Error("a sublog in use was dropped")
		}
		_, err := f.Append(tx, &post{Author: "alice"})
		ok(t, err)
		ok(t, without.DropSublog(tx, "author"))
		ok(t, without.DropSublog(tx, "author"))
		ok(t, without.DropSublog(tx, "never there"))
	})
	q := f.Query().Where(feed.In("author", "alice"))
	view(t, db, func(tx *stoat.Tx) {
		if _, err := q.Count(tx); err == nil {
			t.Error("a dropped sublog can be queried")
		}
	})
	open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	wantSeqs(t, db, q, 0, 2, 3)
}
