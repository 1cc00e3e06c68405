package stoat_test

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

// memory returns an empty database in memory that the test's end closes.
func memory(t testing.TB) *stoat.DB {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

// openOn returns the database on fs.
func openOn(t testing.TB, fs vfs.FS, opts *stoat.Options) *stoat.DB {
	t.Helper()
	db, err := tuned.Open(fs, "db", opts, engine.Tuning{})
	ok(t, err)
	return db
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

// begin returns a manual transaction that the test's end rolls back.
func begin(t testing.TB, db *stoat.DB, writable bool) *stoat.Tx {
	t.Helper()
	tx, err := db.Begin(writable)
	ok(t, err)
	t.Cleanup(func() { ok(t, tx.Rollback()) })
	return tx
}

// put stores each key with the value "v-" and itself.
func put(t testing.TB, s stoat.KeySpace, keys ...string) {
	t.Helper()
	for _, k := range keys {
		ok(t, s.Put([]byte(k), []byte("v-"+k)))
	}
}

// create returns a new bucket.
func create(t testing.TB, s stoat.KeySpace, name string) *stoat.Bucket {
	t.Helper()
	b, err := s.CreateBucket([]byte(name))
	ok(t, err)
	return b
}

// bucket returns an existing bucket.
func bucket(t testing.TB, s stoat.KeySpace, name string) *stoat.Bucket {
	t.Helper()
	b, err := s.Bucket([]byte(name))
	ok(t, err)
	return b
}

// keysOf returns the keys that a loop visits.
func keysOf(seq iter.Seq[[]byte]) []string {
	var keys []string
	for k := range seq {
		keys = append(keys, string(k))
	}
	return keys
}

// wantKeys wants a bucket to hold these keys, as Scan, Keys and Cursor see it in both directions,
// with the values of put.
func wantKeys(t testing.TB, s stoat.KeySpace, want ...string) {
	t.Helper()
	var scanned, moved []string
	for k, v := range s.Scan(stoat.Range{}) {
		scanned = append(scanned, string(k))
		equal(t, string(v), "v-"+string(k))
	}
	equalKeys(t, scanned, want)
	c := s.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		moved = append(moved, string(k))
		equal(t, string(v), "v-"+string(k))
	}
	ok(t, c.Err())
	equalKeys(t, moved, want)
	equalKeys(t, keysOf(s.Keys(stoat.Range{})), want)

	reversed := slices.Clone(want)
	slices.Reverse(reversed)
	equalKeys(t, keysOf(s.Keys(stoat.Range{Reverse: true})), reversed)
	moved = nil
	for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
		moved = append(moved, string(k))
	}
	ok(t, c.Err())
	equalKeys(t, moved, reversed)
}

func equalKeys(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
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
