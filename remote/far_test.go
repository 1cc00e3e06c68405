package remote_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// loaded returns a store with what [load] adds, in tables only.
func loaded(t testing.TB) objstore.Store {
	t.Helper()
	store := memstore.New()
	db, err := open(t, store, memfs.New(), quick(), smallTables())
	ok(t, err)
	load(t, db)
	ok(t, db.Ship(t.Context()))
	ok(t, db.Close())
	if n := len(names(t, store, "data/")); n < 3 {
		t.Fatalf("there are %d tables", n)
	}
	return store
}

// wantLoaded wants a transaction to have the first n keys of those.
func wantLoaded(t testing.TB, tx *stoat.Tx, n int) {
	t.Helper()
	for i := range n {
		value, err := tx.Get(fmt.Appendf(nil, "%04d", i))
		if ok(t, err); !bytes.Equal(value, make([]byte, 100)) {
			t.Errorf("key %d is %x", i, value)
		}
	}
}

// openLoaded opens the database, without a reason for a compaction, which would read the tables.
func openLoaded(t testing.TB, store objstore.Store, files vfs.FS) *remote.DB {
	t.Helper()
	db, err := open(t, store, files, quick(), smallTables())
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

// begin begins a transaction that reads.
func begin(t testing.TB, db *remote.DB) *stoat.Tx {
	t.Helper()
	tx, err := db.Begin(false)
	ok(t, err)
	t.Cleanup(func() { ok(t, tx.Rollback()) })
	return tx
}

// Most of the tables nobody has read before.
func TestClose_leavesTheStoreToOpenTransactions(t *testing.T) {
	db := openLoaded(t, loaded(t), memfs.New())
	tx := begin(t, db)
	wantLoaded(t, tx, 1)
	ok(t, db.Close())
	wantLoaded(t, tx, 1000)
}

// Nothing in the store was read before Close, and the cache is another's afterwards.
func TestClose_leavesTheStoreToTransactionsWithoutItsCache(t *testing.T) {
	store, files := loaded(t), memfs.New()
	ok(t, openLoaded(t, store, files).Close())
	db := openLoaded(t, store, files)
	tx := begin(t, db)
	ok(t, db.Close())
	next := begin(t, openLoaded(t, store, files))
	wantLoaded(t, next, 1)
	wantLoaded(t, tx, 1000)
	wantLoaded(t, next, 1000)
}

// TestClose_isNotHeldUpByAStoreThatIsGone has a compaction that reads files in the store, and goes
// on trying.
func TestClose_isNotHeldUpByAStoreThatIsGone(t *testing.T) {
	var down atomic.Bool
	asked := make(chan struct{}, 1)
	client := faultstore.NewServer(loaded(t)).Client(func(r faultstore.Request) faultstore.Fate {
		if !down.Load() {
			return faultstore.Answered
		}
		if r.Op == faultstore.Get && strings.HasPrefix(r.Name, "data/") {
			select {
			case asked <- struct{}{}:
			default:
			}
		}
		return faultstore.Failed
	})
	o := quick()
	o.CloseTimeout, o.Patience = time.Millisecond, time.Hour
	db, err := open(t, client, memfs.New(), o, smallTables())
	ok(t, err)
	down.Store(true)
	for _, key := range []string{"0000", "0999"} {
		ok(t, db.Put([]byte(key), []byte("new")))
	}
	compacted := make(chan error)
	go func() { compacted <- db.Compact(t.Context()) }()
	<-asked
	wantErr(t, db.Close(), remote.ErrUnshipped)
	if err := <-compacted; err == nil {
		t.Error("files that nobody can read are compacted")
	}
}
