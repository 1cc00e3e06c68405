package feed_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// post is the entry of most tests.
type post struct {
	Author string
	Tags   []string
	Text   string
}

// sublogs are those of posts.
func sublogs() map[string]func(*post) []string {
	return map[string]func(*post) []string{
		"author": func(p *post) []string { return []string{p.Author} },
		"tag":    func(p *post) []string { return p.Tags },
	}
}

// memory returns an empty database in memory that the test's end closes.
func memory(t testing.TB) *stoat.DB {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

// open returns a feed.
func open[T any](t testing.TB, db *stoat.DB, o *feed.Options[T]) *feed.Feed[T] {
	t.Helper()
	f, err := feed.Open(db, "feed", o)
	ok(t, err)
	return f
}

// update runs fn in a transaction that must commit.
func update(t testing.TB, db *stoat.DB, fn func(tx *stoat.Tx)) {
	t.Helper()
	ok(t, db.Update(func(tx *stoat.Tx) error { fn(tx); return nil }))
}

// view runs fn in a read-only transaction that must end well.
func view(t testing.TB, db *stoat.DB, fn func(tx *stoat.Tx)) {
	t.Helper()
	ok(t, db.View(func(tx *stoat.Tx) error { fn(tx); return nil }))
}

// appendAll appends values in one transaction.
func appendAll[T any](t testing.TB, db *stoat.DB, f *feed.Feed[T], values ...T) {
	t.Helper()
	update(t, db, func(tx *stoat.Tx) {
		for i := range values {
			_, err := f.Append(tx, &values[i])
			ok(t, err)
		}
	})
}

// numbered returns n posts, of two authors by turns.
func numbered(n int) []post {
	var all []post
	for i := range n {
		author := []string{"alice", "bob"}[i%2]
		all = append(all, post{Author: author, Text: fmt.Sprint("text ", i)})
	}
	return all
}

// seqs returns the numbers of what a query finds.
func seqs[T any](t testing.TB, tx *stoat.Tx, q feed.Query[T]) []uint64 {
	t.Helper()
	var all []uint64
	for e, err := range q.All(tx) {
		ok(t, err)
		all = append(all, e.Seq)
	}
	return all
}

// wantSeqs wants a query to find these entries.
func wantSeqs[T any](t testing.TB, db *stoat.DB, q feed.Query[T], want ...uint64) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) {
		t.Helper()
		if got := seqs(t, tx, q); !slices.Equal(got, want) {
			t.Errorf("entries %v, want %v", got, want)
		}
	})
}

// clock is a time that a test sets.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.UnixMilli(1_700_000_000_000)} }

func (c *clock) Now() time.Time { return c.now }

func random(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func equal[T comparable](t testing.TB, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}
