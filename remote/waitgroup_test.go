package remote_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// faraway is a store whose answers take a while, and that counts log objects.
type faraway struct {
	objstore.Store
	latency     time.Duration
	logs        atomic.Int64
	now, window atomic.Int64 // on their way, and the most of them so far
}

func (d *faraway) Create(ctx context.Context, name string, body []byte) error {
	if strings.HasPrefix(name, "log/") {
		d.logs.Add(1)
		d.window.Store(max(d.window.Load(), d.now.Add(1)))
		defer d.now.Add(-1)
	}
	select {
	case <-time.After(d.latency):
	case <-ctx.Done():
		return objstore.ErrUnknown
	}
	return d.Store.Create(ctx, name, body)
}

// TestWait_takesOneAnswer measures, by a clock that only waiting moves, how long callers wait who
// commit again and again: little longer than one answer, since they share requests. If groups were
// sent as soon as they begin, it would be two answers, and four requests a round.
func TestWait_takesOneAnswer(t *testing.T) {
	const latency, rounds = 20 * time.Millisecond, 20
	for _, callers := range []int{1, 2, 8, 256} {
		synctest.Test(t, func(t *testing.T) {
			store := &faraway{Store: memstore.New(), latency: latency}
			db, err := open(t, store, memfs.New(), waiting(), engine.Tuning{})
			ok(t, err)
			ok(t, db.Put([]byte("first"), nil))
			before, start := store.logs.Load(), time.Now()
			var all sync.WaitGroup
			for caller := range callers {
				all.Go(func() {
					for i := range rounds {
						if err := db.Put(fmt.Append(nil, caller, " ", i), nil); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			took, requests := time.Since(start), store.logs.Load()-before
			t.Logf("%d callers: %d commits in %v, %d requests", callers, callers*rounds, took, requests)
			if took > rounds*latency*3/2 {
				t.Errorf("%d callers take %v for %d commits each", callers, took, rounds)
			}
			if requests > 3*rounds {
				t.Errorf("%d requests for %d rounds of commits", requests, rounds)
			}
			if n := store.window.Load(); n > 2 {
				t.Errorf("%d log objects were on their way at a time", n)
			}
			ok(t, db.Close())
		})
	}
}
