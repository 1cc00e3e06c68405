package remote_test

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// copyOf returns a store with all objects of another one.
func copyOf(t testing.TB, store objstore.Store) *memstore.Store {
	t.Helper()
	to := memstore.New()
	for _, name := range names(t, store, "") {
		p, err := store.Get(t.Context(), name, 0, -1)
		ok(t, err)
		ok(t, to.Create(t.Context(), name, p))
	}
	return to
}

// rewritten has a new writer give all keys values that begin with a word.
func rewritten(t testing.TB, store objstore.Store, word string) {
	t.Helper()
	db := mustOpen(t, store, memfs.New())
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for i := range 500 {
			if err := tx.Put(largeKey(i), append([]byte(word), largeValue(i, 400)...)); err != nil {
				return err
			}
		}
		return nil
	}))
	ok(t, db.Compact(t.Context()))
	ok(t, db.Ship(t.Context()))
	for !inTables(t, store, db) {
		runtime.Gosched()
	}
	ok(t, db.Close())
}

// TestReader_cacheIsOfOneCopy has two copies of a store, each with a writer of its own, who makes
// other files by the same names. Readers of both use one folder.
func TestReader_cacheIsOfOneCopy(t *testing.T) {
	one := memstore.New()
	rewritten(t, one, "old")
	other := copyOf(t, one)
	rewritten(t, one, "one")
	rewritten(t, other, "two")
	if !slices.ContainsFunc(names(t, one, "data/"), func(name string) bool {
		p, err := one.Get(t.Context(), name, 0, -1)
		ok(t, err)
		q, err := other.Get(t.Context(), name, 0, -1)
		return err == nil && !bytes.Equal(p, q)
	}) {
		t.Fatal("the copies do not differ in any file")
	}
	disk := memfs.New()
	for range 2 {
		for word, store := range map[string]objstore.Store{"one": one, "two": other} {
			r := cold(t, store, disk)
			for i := range 500 {
				v, err := r.Get(largeKey(i))
				if err != nil || !bytes.HasPrefix(v, []byte(word)) {
					t.Fatalf("the copy with %s has %.3q: %v", word, v, err)
				}
			}
			ok(t, r.Close())
		}
	}
}
