package torture

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

// openOn opens the database on fs.
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

// view runs fn in a read-only transaction.
func view(t testing.TB, db *stoat.DB, fn func(tx *stoat.Tx)) {
	t.Helper()
	ok(t, db.View(func(tx *stoat.Tx) error { fn(tx); return nil }))
}

// put stores each key k with the value "v-k".
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

// keysOf collects the keys of a loop.
func keysOf(seq iter.Seq[[]byte]) []string {
	var keys []string
	for k := range seq {
		keys = append(keys, string(k))
	}
	return keys
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
