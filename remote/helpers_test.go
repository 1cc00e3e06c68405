package remote_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

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

// quick is options with short times.
func quick() remote.Options {
	return remote.Options{
		Interval: time.Millisecond, MaxLag: time.Minute, CloseTimeout: 30 * time.Second, Writer: "test",
	}
}

// open is [remote.Open] on any file system.
func open(
	t testing.TB, store objstore.Store, files vfs.FS, o remote.Options, tuning engine.Tuning,
) (*remote.DB, error) {
	t.Helper()
	return openUntil(t.Context(), store, files, o, tuning)
}

// openUntil is open with a context.
func openUntil(
	ctx context.Context, store objstore.Store, files vfs.FS, o remote.Options, tuning engine.Tuning,
) (*remote.DB, error) {
	defer hook.Attach(&o, hook.Settings{FS: files, Tuning: tuning})()
	return remote.Open(ctx, store, "db", &o)
}

func mustOpen(t testing.TB, store objstore.Store, files vfs.FS) *remote.DB {
	t.Helper()
	db, err := open(t, store, files, quick(), engine.Tuning{})
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() }) // what it returns is part of some tests
	return db
}

// history is a database whose transactions are counted in it, and what it held after each.
type history struct {
	rng    *rand.Rand
	states []map[string]string // by the number of the transaction
	safe   int                 // no transaction up to this one may be lost with a machine
}

// counter is the key of the number of the newest transaction.
const counter = "counter"

func newHistory(t testing.TB, seed uint64) *history {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return &history{rng: rand.New(rand.NewPCG(seed, 3)), states: []map[string]string{{}}}
}

// commit makes the next transaction, which is part of the history even if it fails.
func (h *history) commit(db *stoat.DB) error { return h.commitUntil(context.Background(), db) }

// commitUntil is commit with a context.
func (h *history) commitUntil(ctx context.Context, db *stoat.DB) error {
	next := maps.Clone(h.states[len(h.states)-1])
	number := uint64(len(h.states))
	changes := map[string]string{counter: string(binary.BigEndian.AppendUint64(nil, number))}
	for range 1 + h.rng.IntN(6) {
		value := make([]byte, h.rng.IntN(200))
		if h.rng.IntN(20) == 0 {
			value = make([]byte, 6000)
		}
		for i := range value {
			value[i] = byte(h.rng.UintN(256))
		}
		changes[fmt.Sprint("key", h.rng.IntN(40))] = string(value)
	}
	gone := fmt.Sprint("key", h.rng.IntN(40))
	delete(changes, gone)
	delete(next, gone)
	maps.Copy(next, changes)
	h.states = append(h.states, next)
	return db.UpdateContext(ctx, func(tx *stoat.Tx) error {
		for key, value := range changes {
			if err := tx.Put([]byte(key), []byte(value)); err != nil {
				return err
			}
		}
		return tx.Delete([]byte(gone))
	})
}

// check returns the number of the transaction after which the database is, and an error if it is
// not what it held then.
func (h *history) check(db *stoat.DB) (number int, err error) {
	got := map[string]string{}
	err = db.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Range{}) {
			got[string(key)] = string(value)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if p := got[counter]; p != "" {
		number = int(binary.BigEndian.Uint64([]byte(p)))
	}
	if number >= len(h.states) || !maps.Equal(got, h.states[number]) {
		return number, fmt.Errorf("after transaction %d, the database has %d keys, and not what it had",
			number, len(got))
	}
	return number, nil
}

// wantAt wants the database to be as it was after a transaction, or after a later one.
func (h *history) wantAt(t testing.TB, what string, db *stoat.DB, least int) {
	t.Helper()
	number, err := h.check(db)
	ok(t, err)
	if number < least {
		t.Fatalf("%s is as after transaction %d, and %d should be there", what, number, least)
	}
}

// restored returns a copy of what is in the store.
func restored(t testing.TB, store objstore.Store) *stoat.DB {
	t.Helper()
	return restoredAt(t, store, remote.RestoreOptions{})
}

// tryRestore restores a copy to a disk.
func tryRestore(store objstore.Store, disk vfs.FS, o remote.RestoreOptions) error {
	ctx := hook.With(context.Background(), hook.Settings{FS: disk})
	return remote.Restore(ctx, store, "db", &o)
}

// restoredAt returns a copy of what the options say.
func restoredAt(t testing.TB, store objstore.Store, o remote.RestoreOptions) *stoat.DB {
	t.Helper()
	disk := memfs.New()
	ok(t, tryRestore(store, disk, o))
	db, err := tuned.Open(disk, "db", nil, engine.Tuning{})
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}
