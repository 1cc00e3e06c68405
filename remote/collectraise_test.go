package remote_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestCollect_keepsTheStateOfItsBound has a later state be stored, which may be the first one that
// is kept, once a collection has created its unlink bound.
func TestCollect_keepsTheStateOfItsBound(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 57)
	var collects, raised atomic.Bool
	var later func()
	client := faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
		switch {
		case r.Op == faultstore.Create && collects.CompareAndSwap(true, false):
			raised.Store(true)
		case r.Op == faultstore.List && r.Name == "state/" && raised.CompareAndSwap(true, false):
			later()
		}
		return faultstore.Answered
	})
	db, err := open(t, client, memfs.New(), forgetful(), tuned.Sizes()[1])
	ok(t, err)
	busy(t, h, db, 30)
	later = func() {
		for stored := len(names(t, store, "state/")); len(names(t, store, "state/")) <= stored; {
			mustCommit(t, h, db, 1)
			runtime.Gosched()
		}
	}
	collects.Store(true)
	_, err = db.Collect(t.Context())
	ok(t, err)
	if collects.Load() || raised.Load() {
		t.Error("no state was stored meanwhile")
	}
	end, err := logOf(t, store).End(t.Context())
	ok(t, err)
	if _, err := logOf(t, store).StateAt(t.Context(), end.Bound); err != nil {
		t.Errorf("the unlink bound is %d: %v", end.Bound, err)
	}
	if _, err := remote.Verify(t.Context(), store); err != nil {
		t.Error(err)
	}
	ok(t, db.Close())
}
