package remote_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// uneven is a store whose requests take a random time, some of it before they have an effect.
// Files are at hand.
type uneven struct {
	objstore.Store
	trip time.Duration // on average

	mu  *sync.Mutex
	rng *rand.Rand
}

// half waits for half of a request.
func (u uneven) half() {
	u.mu.Lock()
	d := u.trip/4 + time.Duration(u.rng.Int64N(int64(u.trip/2)))
	u.mu.Unlock()
	<-time.After(d)
}

func (u uneven) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if strings.HasPrefix(name, "data/") {
		return u.Store.Get(ctx, name, off, n)
	}
	u.half()
	p, err := u.Store.Get(ctx, name, off, n)
	u.half()
	return p, err
}

func (u uneven) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	u.half()
	listed, err := u.Store.List(ctx, prefix, after, limit)
	u.half()
	return listed, err
}

func (u uneven) Create(ctx context.Context, name string, body []byte) error {
	u.half()
	err := u.Store.Create(ctx, name, body)
	u.half()
	return err
}

// A writer that commits without a pause takes each number before a claim can, unless it is stopped.
func TestTakeOver_stopsABusyWriter(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{1, 8, 64} {
		t.Run(fmt.Sprint(callers), func(t *testing.T) {
			for range 10 {
				seed := rand.Uint64()
				synctest.Test(t, func(t *testing.T) { takeOverBusy(t, seed, callers) })
			}
		})
	}
}

func takeOverBusy(t *testing.T, seed uint64, callers int) {
	t.Helper()
	const trip = 20 * time.Millisecond
	server := faultstore.NewServer(memstore.New())
	rng, mu := rand.New(rand.NewPCG(seed, 1)), new(sync.Mutex)
	client := server.Client(nil)
	first, err := open(t, uneven{server.Client(nil), trip, mu, rng}, memfs.New(), waiting(),
		engine.Tuning{})
	ok(t, err)
	var running sync.WaitGroup
	acked := make([]int, callers)
	for i := range callers {
		running.Go(func() {
			for first.Put(fmt.Appendf(nil, "%d/%d", i, acked[i]), nil) == nil {
				acked[i]++
			}
		})
	}
	r, err := remote.OpenReader(t.Context(), uneven{client, trip, mu, rng}, "", nil)
	ok(t, err)
	<-time.After(3 * time.Second)
	creates, began := client.Count(faultstore.Create), time.Now()
	second := mustTakeOver(t, r, memfs.New())
	took := time.Since(began)
	running.Wait()
	t.Logf("seed %d: %v, %d creates", seed, took, client.Count(faultstore.Create)-creates)
	if took > 20*trip {
		t.Errorf("seed %d: a takeover beside %d callers takes %v", seed, callers, took)
	}
	for i, n := range acked {
		if n == 0 {
			t.Errorf("seed %d: caller %d has committed nothing", seed, i)
		}
		for j := range n {
			if _, err := second.Get(fmt.Appendf(nil, "%d/%d", i, j)); err != nil {
				t.Fatalf("seed %d: commit %d of caller %d is lost: %v", seed, j, i, err)
			}
		}
	}
	ok(t, second.Put([]byte("more"), nil))
	ok(t, second.Ship(t.Context()))
	ok(t, second.Close())
	_ = first.Close() // it is fenced
}
