package remote_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// flaky is clients of stores at which some tries of each request fail, once they are armed.
type flaky struct {
	fate  faultstore.Fate
	fails int // how often
	armed atomic.Bool

	mu    sync.Mutex
	tried map[faultstore.Request]int
}

func (f *flaky) client(store objstore.Store) *faultstore.Client {
	return faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
		if !f.armed.Load() {
			return faultstore.Answered
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		r.Index = 0
		if f.tried[r]++; f.tried[r] > f.fails {
			return faultstore.Answered
		}
		return f.fate
	})
}

// TestClone_makesRequestsAgain has the first tries of each request fail, of a clone, and of its
// detachment.
func TestClone_makesRequestsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i, fate := range []faultstore.Fate{
			faultstore.Failed, faultstore.Unavailable, faultstore.AnswerLost,
		} {
			parent, own, h := memstore.New(), memstore.New(), newHistory(t, 91)
			written(t, h, parent, tuned.Sizes()[1], 30)
			f := &flaky{fate: fate, fails: 1 + 2*i, tried: map[faultstore.Request]int{}}
			mine, others := f.client(own), f.client(parent)
			f.armed.Store(true)
			_, err := remote.Clone(t.Context(), mine, others, nil)
			ok(t, err)
			f.armed.Store(false)
			wantWhole(t, "the clone", h, remote.CloneStore(own, parent))
			if n := clonePins(t, parent); n != 1 {
				t.Errorf("fate %d: there are %d pins", fate, n)
			}
			info, err := remote.Inspect(t.Context(), own)
			ok(t, err)
			ok(t, remote.Unpin(t.Context(), parent, info.Origin.Pin))
			clear(f.tried)
			f.armed.Store(true)
			_, err = remote.Clone(t.Context(), mine, others, nil)
			ok(t, err)
			f.armed.Store(false)

			db := mustOpen(t, remote.CloneStore(mine, others), memfs.New())
			clear(f.tried)
			f.armed.Store(true)
			copied, err := db.Detach(t.Context())
			ok(t, err)
			f.armed.Store(false)
			ok(t, db.Close())
			if n := clonePins(t, parent); n != 0 || copied.Objects == 0 {
				t.Errorf("fate %d: there are %d pins, and %+v were copied", fate, n, copied)
			}
			wantWhole(t, "the clone that stands alone", h, own)
		}
	})
}

// TestClone_givesUp has a store that does not answer any more.
func TestClone_givesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, own := memstore.New(), memstore.New()
		written(t, newHistory(t, 92), parent, tuned.Sizes()[1], 10)
		for _, fate := range []faultstore.Fate{faultstore.Failed, faultstore.Unavailable} {
			f := &flaky{fate: fate, fails: 1 << 30, tried: map[faultstore.Request]int{}}
			f.armed.Store(true)
			began := time.Now()
			if _, err := remote.Clone(t.Context(), f.client(own), parent, nil); err == nil {
				t.Error("nobody has noticed")
			}
			if d := time.Since(began); d < 10*time.Second || d > time.Minute {
				t.Errorf("it has given up after %v", d)
			}
		}
	})
}
