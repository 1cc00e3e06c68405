package remote_test

import (
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// TestPin_isRestoredThoughTheBoundIsBeyondIt pins a position while a collection has listed the
// pins, and has not created its unlink bound.
func TestPin_isRestoredThoughTheBoundIsBeyondIt(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 55)
	var pins, collects atomic.Bool
	reached, pinned, collected := make(chan int), make(chan int), make(chan error, 1)
	client := at(store, faultstore.Get, "state/", &collects, func() { close(reached); <-pinned })
	db, err := open(t, client, memfs.New(), forgetful(), tuned.Sizes()[1])
	ok(t, err)
	busy(t, h, db, 20)
	awaitTables(t, db, store, 20) // so the pin is of an object without a commit
	pins.Store(true)
	pin, err := remote.Pin(t.Context(), at(store, faultstore.Create, "pin/", &pins, func() {
		busy(t, h, db, 10)
		awaitTables(t, db, store, 30) // so no state that is stored has just what is pinned
		collects.Store(true)
		go func() { collected <- errOf(db.Collect(t.Context())) }()
		<-reached
	}), "keep")
	close(pinned)
	ok(t, err)
	ok(t, <-collected)
	pinBeforeBound(t, store)
	for range 2 {
		o := remote.RestoreOptions{Commit: pin.Commit}
		h.wantExactly(t, "the copy", restoredAt(t, store, o), 20)
		cloneOrLeave(t, store, 20)
		busy(t, h, db, 30)
		ok(t, db.Compact(t.Context()))
		collectAll(t, db)
	}
	ok(t, db.Close())
}

// awaitTables returns once the tables in a store have a commit.
func awaitTables(t testing.TB, db *remote.DB, store objstore.Store, commit uint64) {
	t.Helper()
	ok(t, db.Flush())
	for {
		end, err := logOf(t, store).End(t.Context())
		ok(t, err)
		if end.Version.LastCommit >= commit {
			return
		}
	}
}

// cloneOrLeave clones a commit that a pin before the unlink bound keeps, and gives the clone up. If
// no later state has it, a pin of its own would come too late: then nothing may be left.
func cloneOrLeave(t testing.TB, parent objstore.Store, commit uint64) {
	t.Helper()
	own := memstore.New()
	_, err := remote.Clone(t.Context(), own, parent, &remote.CloneOptions{Commit: commit})
	if err == nil {
		info, err := remote.Inspect(t.Context(), own)
		ok(t, err)
		ok(t, remote.Unpin(t.Context(), parent, info.Origin.Pin))
		return
	}
	wantErr(t, err, remote.ErrNotKept)
	if left := names(t, own, ""); len(left) > 0 || clonePins(t, parent) > 0 {
		t.Errorf("left are %v, and %d pins", left, clonePins(t, parent))
	}
}
