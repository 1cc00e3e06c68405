package remote_test

import (
	"bytes"
	"runtime"
	"testing"
	"weak"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// What a reader has in memory is freed once it is closed, or has become the writer: a program may
// open and close readers all day.
func TestReader_isFreed(t *testing.T) {
	store := memstore.New()
	db, err := open(t, store, memfs.New(), quick(), engine.Tuning{})
	ok(t, err)
	ok(t, db.Put([]byte("key"), bytes.Repeat([]byte("value"), 10<<10)))
	ok(t, db.Flush())
	ok(t, db.Ship(t.Context()))
	ok(t, db.Close())

	read := func(db *stoat.DB) {
		t.Helper()
		ok(t, db.View(func(tx *stoat.Tx) error {
			_, err := tx.Get([]byte("key"))
			return err
		}))
	}
	opened := func() *remote.Reader {
		r, err := remote.OpenReader(t.Context(), store, "", nil)
		ok(t, err)
		read(r.DB)
		return r
	}
	r := opened()
	ok(t, r.Close())
	wantFreed(t, weak.Make(r), "a closed reader")

	r = opened()
	db, err = r.TakeOver(t.Context(), t.TempDir(), nil)
	ok(t, err)
	read(db.DB)
	wantFreed(t, weak.Make(r), "a reader that has taken over")
	read(db.DB)
	ok(t, db.Close())
}

// wantFreed fails the test if a reader stays in memory that nobody refers to any more.
func wantFreed(t *testing.T, r weak.Pointer[remote.Reader], what string) {
	t.Helper()
	for range 10 {
		if runtime.GC(); r.Value() == nil {
			return
		}
	}
	t.Errorf("%s stays in memory", what)
}
