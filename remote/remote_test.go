package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

func TestOpen_restoresAnEmptyFolder(t *testing.T) {
	for i, tuning := range tuned.Sizes() {
		t.Run(fmt.Sprint("size ", i), func(t *testing.T) {
			store, h := memstore.New(), newHistory(t, uint64(i))
			for round := 1; round <= 3; round++ {
				db, err := open(t, store, memfs.New(), quick(), tuning)
				ok(t, err)
				h.wantAt(t, "the database", db.DB, len(h.states)-1)
				for range 100 {
					ok(t, h.commit(db.DB))
				}
				ok(t, db.Ship(t.Context()))
				h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
				if s := db.Status(); s.Commit != s.Shipped || s.Requests == 0 || s.Bytes == 0 {
					t.Errorf("the status is %+v", s)
				}
				ok(t, db.Close())
			}
		})
	}
}

func TestOpen_goesOnWithItsFolder(t *testing.T) {
	store, disk, h := memstore.New(), memfs.New(), newHistory(t, 1)
	for range 5 {
		db := mustOpen(t, store, disk)
		for range 20 {
			ok(t, h.commit(db.DB))
		}
		ok(t, db.Close())
		plain, err := tuned.Open(disk, "db", nil, engine.Tuning{})
		ok(t, err)
		ok(t, h.commit(plain)) // is shipped next time
		ok(t, plain.Close())
	}
	db := mustOpen(t, store, disk)
	ok(t, db.Ship(t.Context()))
	h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
}

func TestOpen_takesADatabaseThatNoStoreHas(t *testing.T) {
	store, disk, h := memstore.New(), memfs.New(), newHistory(t, 2)
	plain, err := tuned.Open(disk, "db", nil, tuned.Sizes()[0])
	ok(t, err)
	for range 200 {
		ok(t, h.commit(plain))
	}
	ok(t, plain.Close())
	db := mustOpen(t, store, disk)
	ok(t, db.Ship(t.Context()))
	h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
}

func TestOpen_refusesAnotherFolder(t *testing.T) {
	store, disk, other := memstore.New(), memfs.New(), memfs.New()
	db := mustOpen(t, store, disk)
	ok(t, db.Put([]byte("a"), nil))
	ok(t, db.Close())
	plain, err := tuned.Open(other, "db", nil, engine.Tuning{})
	ok(t, err)
	ok(t, plain.Put([]byte("b"), nil))
	ok(t, plain.Close())
	_, err = open(t, store, other, quick(), engine.Tuning{})
	wantErr(t, err, remote.ErrApart)
	_, err = open(t, memstore.New(), disk, remote.Options{
		Database: &stoat.Options{ReadOnly: true},
	}, engine.Tuning{})
	wantErr(t, err, stoat.ErrReadOnly)
	wantErr(t, remote.Restore(t.Context(), memstore.New(), t.TempDir(), nil), remote.ErrNone)
}

// TestOpen_fencesTheWriterBefore lets a second machine take over, commit, and the first go on.
func TestOpen_fencesTheWriterBefore(t *testing.T) {
	store, disk, h := memstore.New(), memfs.New(), newHistory(t, 3)
	first := mustOpen(t, store, disk)
	ok(t, h.commit(first.DB))
	ok(t, first.Ship(t.Context()))
	second := mustOpen(t, store, memfs.New())
	ok(t, first.Put([]byte("lost"), nil))
	wantErr(t, first.Ship(t.Context()), remote.ErrFenced)
	wantErr(t, first.Put([]byte("refused"), nil), remote.ErrFenced)
	wantErr(t, first.Close(), remote.ErrUnshipped)
	ok(t, h.commit(second.DB))
	ok(t, second.Close())
	h.wantAt(t, "a copy", restored(t, store), 2)
	_, err := open(t, store, disk, quick(), engine.Tuning{})
	wantErr(t, err, remote.ErrApart)
	plain, err := tuned.Open(disk, "db", nil, engine.Tuning{})
	ok(t, err)
	if _, err := plain.Get([]byte("lost")); err != nil {
		t.Errorf("what was not shipped is not in the folder: %v", err)
	}
	ok(t, plain.Close())
}

// TestOpen_letsOneOfTwoCopiesGoOn opens copies of one folder in turn.
func TestOpen_letsOneOfTwoCopiesGoOn(t *testing.T) {
	store, disk, h := memstore.New(), memfs.NewCrashable(), newHistory(t, 4)
	db := mustOpen(t, store, disk)
	for range 10 {
		ok(t, h.commit(db.DB))
	}
	ok(t, db.Flush())
	ok(t, db.Ship(t.Context()))
	copied := disk.CrashKeepAll()
	ok(t, db.Put([]byte("only in the first"), nil)) // before it is known who is the writer
	ok(t, db.Ship(t.Context()))
	_, err := open(t, store, copied, quick(), engine.Tuning{})
	wantErr(t, err, remote.ErrApart) // it lacks what was shipped
	ok(t, db.Close())
}

func TestMaxLag_makesTransactionsWait(t *testing.T) {
	var down atomic.Bool
	server := faultstore.NewServer(memstore.New())
	client := server.Client(func(faultstore.Request) faultstore.Fate {
		if down.Load() {
			return faultstore.Unavailable
		}
		return faultstore.Answered
	})
	o := quick()
	o.MaxLag = 10 * time.Millisecond
	db, err := open(t, client, memfs.New(), o, engine.Tuning{})
	ok(t, err)
	h := newHistory(t, 5)
	ok(t, h.commit(db.DB))
	ok(t, db.Ship(t.Context()))
	down.Store(true)
	ok(t, h.commit(db.DB))
	for db.Status().Lag <= o.MaxLag {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errStopped)
	defer cancel()
	err = db.UpdateContext(ctx, func(*stoat.Tx) error { return nil })
	wantErr(t, err, errStopped)
	h.wantAt(t, "the database", db.DB, 2) // reading goes on
	down.Store(false)
	ok(t, h.commit(db.DB))
	ok(t, db.Close())
	h.wantAt(t, "a copy", restored(t, client), 3)
}

var errStopped = fmt.Errorf("stopped")

func TestShip_takesTransactionsOfAnySize(t *testing.T) {
	store := memstore.New()
	db, err := open(t, store, memfs.New(), quick(), engine.Tuning{SpillBytes: 32 << 20})
	ok(t, err)
	value := bytes.Repeat([]byte("0123456789abcdef"), 7<<16) // more than a log object takes
	ok(t, db.Put([]byte("large"), value))
	ok(t, db.Put([]byte("small"), nil))
	ok(t, db.Load(t.Context(), func(yield func(key, value []byte) bool) {
		for i := 0; i < 1000 && yield(fmt.Appendf(nil, "loaded %04d", i), nil); i++ {
		}
	}))
	ok(t, db.Put([]byte("last"), nil))
	ok(t, db.Close())
	copied := restored(t, store)
	for _, key := range []string{"small", "loaded 0000", "loaded 0999", "last"} {
		if _, err := copied.Get([]byte(key)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if got, err := copied.Get([]byte("large")); !bytes.Equal(got, value) {
		t.Errorf("the large value has %d bytes: %v", len(got), err)
	}
}

// TestShip_leavesFewLogObjectsPending makes so small commits that no memtable is ever full.
func TestShip_leavesFewLogObjectsPending(t *testing.T) {
	store := memstore.New()
	db := mustOpen(t, store, memfs.New())
	for i := range 600 {
		ok(t, db.Put(fmt.Appendf(nil, "key%d", i), nil))
		ok(t, db.Ship(t.Context()))
	}
	for log, pending := logOf(t, store), 600; pending > 300; {
		end, err := log.End(t.Context())
		ok(t, err)
		pending = len(end.Pending)
	}
	ok(t, db.Close())
}

func TestIdle_makesNoRequests(t *testing.T) {
	store := memstore.New()
	db := mustOpen(t, store, memfs.New())
	ok(t, db.Put([]byte("a"), []byte(strings.Repeat("b", 1000))))
	ok(t, db.Ship(t.Context()))
	before := db.Status().Requests
	ok(t, db.Ship(t.Context()))
	ok(t, db.View(func(*stoat.Tx) error { return nil }))
	if after := db.Status().Requests; after != before {
		t.Errorf("%d requests without a commit", after-before)
	}
}

// A folder that belongs to one store is not shipped to another one, and leaves nothing there: the
// numbers of its files and its claims are from the first.
func TestOpen_refusesAFolderOfAnotherStore(t *testing.T) {
	for sessions := 1; sessions < 4; sessions++ {
		first, second, files := memstore.New(), memstore.New(), memfs.New()
		for range sessions {
			db := mustOpen(t, first, files)
			ok(t, db.Put([]byte("key"), []byte("value")))
			ok(t, db.Close())
		}
		_, err := open(t, second, files, quick(), engine.Tuning{})
		wantErr(t, err, remote.ErrApart)
		if there, err := second.List(t.Context(), "", "", 10); err != nil || len(there) > 0 {
			t.Errorf("the other store has %v, %v", there, err)
		}
		ok(t, mustOpen(t, first, files).Close())
	}
}
