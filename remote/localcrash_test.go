package remote_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// perishable is a machine that crashes at one operation of its disk, or at one request.
type perishable struct {
	ctx    context.Context // ends with the crash
	end    context.CancelFunc
	client *faultstore.Client
	disk   *memfs.FS
	files  vfs.FS // the same, with the crash
	rng    *rand.Rand

	acked atomic.Int64 // the newest commit that was acknowledged

	mu    sync.Mutex
	image *memfs.FS // what the disk keeps; nil before the crash
	least int       // acknowledged by then
}

func newPerishable(
	t testing.TB, store objstore.Store, disk *memfs.FS, operation, request int, seed uint64,
) *perishable {
	p := &perishable{disk: disk, rng: rand.New(rand.NewPCG(seed, 11))}
	p.ctx, p.end = context.WithCancel(t.Context())
	t.Cleanup(p.end)
	p.client = faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Index == request {
			p.crash()
			return faultstore.AnswerLost
		}
		return faultstore.Answered
	})
	var count atomic.Int64
	p.files = faultfs.New(disk, func(faultfs.Op) error {
		if count.Add(1) == int64(operation+1) {
			p.crash()
		}
		return nil
	})
	return p
}

func (p *perishable) crash() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.image == nil {
		p.least = int(p.acked.Load())
		p.end()
		p.client.Crash()
		p.image = p.disk.Crash(p.rng)
	}
}

// work opens the database with a limit, commits, and waits until the folder keeps to it.
func (p *perishable) work(t testing.TB, h *history) {
	o := limited()
	o.CloseTimeout, o.Patience = time.Millisecond, 10*time.Millisecond
	o.FillCache = h.rng.IntN(2) == 0
	p.acked.Store(int64(len(h.states) - 1))
	db, err := openUntil(p.ctx, p.client, p.files, o, small())
	if err != nil {
		if p.ctx.Err() == nil {
			t.Fatal(err)
		}
		return
	}
	for range 10 {
		if err := h.commitUntil(p.ctx, db.DB); err != nil {
			break
		}
		p.acked.Add(1)
	}
	_ = db.Flush() // it may have crashed
	for p.ctx.Err() == nil && db.Status().LocalBytes > localLimit {
		runtime.Gosched()
	}
	_ = db.Close()
}

// TestLocalBytes_mayCrashAnywhere crashes at operations of the disk, and at requests, while files
// are removed from the folder: each time the tests run, at others. The folder still opens, with all
// that was acknowledged, and the store has all that was shipped.
func TestLocalBytes_mayCrashAnywhere(t *testing.T) {
	t.Parallel()
	points, stride := 0, 15
	if testing.Short() {
		stride = 60
	}
	for _, ofDisk := range []bool{true, false} {
		for at, crashed := 0, true; crashed; at += 1 + rand.IntN(stride) {
			operation, request := at, -1
			if !ofDisk {
				operation, request = -1, at
			}
			if crashed = crashWithLimit(t, operation, request); t.Failed() {
				t.Fatalf("a crash at operation %d, request %d", operation, request)
			}
			points++
		}
	}
	t.Logf("trust: %d %s", points, pointsNoun)
}

// crashWithLimit reports whether the machine has come to its crash.
func crashWithLimit(t *testing.T, operation, request int) (crashed bool) {
	store, disk, h := memstore.New(), memfs.NewCrashable(), newHistory(t, rand.Uint64())
	db, err := open(t, store, disk, quick(), small())
	ok(t, err)
	mustCommit(t, h, db, 30)
	ok(t, db.Close())

	p := newPerishable(t, store, disk, operation, request, h.rng.Uint64())
	p.work(t, h)
	least, left := p.least, p.image
	if crashed = left != nil; !crashed {
		least, left = len(h.states)-1, disk.CrashKeepAll()
	}
	shipped, err := h.check(restored(t, store))
	ok(t, err)
	db = mustOpen(t, store, left)
	number, err := h.check(db.DB)
	if ok(t, err); number < least || number < shipped {
		t.Errorf("the folder is as after transaction %d, %d were acknowledged, and %d shipped", number,
			least, shipped)
	}
	h.states = h.states[:number+1]
	mustCommit(t, h, db, 10)
	ok(t, db.Check(t.Context()))
	ok(t, db.Close())
	db = openLimited(t, store, left, small())
	awaitLimit(t, db, left)
	h.wantAt(t, "the folder", db.DB, len(h.states)-1)
	ok(t, db.Close())
	h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
	return crashed
}
