package remote_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// How many histories to run, and which one to repeat. The interleaving of goroutines is not part of
// the seed.
var (
	runs     = flag.Int("crash.runs", 20, "how many histories with crashes")
	seedFlag = flag.Uint64("crash.seed", 0, "the first seed; 0: random")
)

// machine is a process with a database, and what happens to it.
type machine struct {
	client *faultstore.Client
	disk   *memfs.FS // its folder
	files  vfs.FS    // the same, where operations are counted
	db     *remote.DB
	mode   remote.Durability
	calm   bool            // it has no faults
	acked  atomic.Int64    // the newest commit that was acknowledged
	ctx    context.Context // ends with the machine
	end    context.CancelFunc

	mu        sync.Mutex
	rng       *rand.Rand
	image     *memfs.FS // what its disk keeps, once it has crashed
	leastKept int64     // acknowledged when it crashed
}

// newMachine returns a machine that crashes at some request or operation of its disk.
func newMachine(
	ctx context.Context, server *faultstore.Server, disk *memfs.FS, rng *rand.Rand, calm bool,
) *machine {
	m := &machine{disk: disk, calm: calm, rng: rand.New(rand.NewPCG(rng.Uint64(), 5))}
	m.mode = remote.Durability(rng.IntN(2))
	m.ctx, m.end = context.WithCancel(ctx)
	request, operation := -1, int64(-1)
	if rng.IntN(2) == 0 {
		request = rng.IntN(40)
	} else {
		operation = rng.Int64N(600)
	}
	m.client = server.Client(func(r faultstore.Request) faultstore.Fate {
		if calm {
			return faultstore.Answered
		}
		if r.Index == request {
			m.crash()
			return m.fate(1)
		}
		return m.fate(10)
	})
	var count atomic.Int64
	m.files = faultfs.New(disk, func(faultfs.Op) error {
		if !calm && count.Add(1) == operation {
			m.crash()
		}
		return nil
	})
	return m
}

// fate returns the fate of a request, of which one in n is not as usual.
func (m *machine) fate(n int) faultstore.Fate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rng.IntN(n) > 0 {
		return faultstore.Answered
	}
	return faultstore.Fate(m.rng.IntN(int(faultstore.Late) + 1))
}

// crash ends the machine: no request has an effect any more, and its disk is as it was.
func (m *machine) crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.image == nil {
		m.end()
		m.leastKept = m.acked.Load()
		m.client.Crash()
		m.image = m.disk.Crash(m.rng)
	}
}

// run opens the database and makes transactions until the machine crashes, or stops for others.
func (m *machine) run(t *testing.T, h *history) {
	o := forgetful()
	o.CloseTimeout, o.Durability = time.Millisecond, m.mode
	if m.mode == remote.Wait && h.rng.IntN(2) == 0 { // what is acknowledged is synced all the same
		o.Database = &stoat.Options{Sync: stoat.SyncNever}
	}
	sizes := tuned.Sizes()
	db, err := openUntil(m.ctx, m.client, m.files, o, sizes[h.rng.IntN(len(sizes))])
	if errors.Is(err, remote.ErrApart) {
		t.Fatalf("the folder of the newest writer is refused: %v", err)
	}
	if err != nil && m.calm {
		t.Fatalf("open: %v", err)
	}
	if err != nil {
		m.crash() // it gives up
		return
	}
	m.db = db
	number, err := h.check(db.DB)
	ok(t, err)
	if number < h.safe {
		t.Fatalf("the database is as after transaction %d, and %d were acknowledged", number, h.safe)
	}
	h.states = h.states[:number+1] // the others are lost, or were never made
	m.acked.Store(int64(number))
	for range 20 + h.rng.IntN(60) {
		if m.ctx.Err() != nil {
			return
		}
		if err := h.commitUntil(m.ctx, db.DB); err != nil {
			if m.ctx.Err() == nil {
				t.Fatalf("commit: %v", err)
			}
			return
		}
		m.acked.Add(1)
		if m.mode == remote.Wait {
			h.safe = int(m.acked.Load())
		}
		if h.rng.IntN(20) == 0 {
			if err := db.Ship(m.ctx); err != nil && m.ctx.Err() == nil {
				t.Fatalf("ship: %v", err)
			}
		}
		if h.rng.IntN(20) == 0 {
			_, _ = db.Collect(m.ctx) // an error may be that of a request
		}
	}
}

// wantFenced wants a machine that stopped, while another one took over, to have no effect.
func (m *machine) wantFenced(t *testing.T) {
	t.Helper()
	if m.db == nil || m.ctx.Err() != nil {
		return
	}
	wantErr(t, m.db.Confirm(t.Context()), remote.ErrFenced)
	wantErr(t, m.db.Put([]byte("too late"), nil), remote.ErrFenced)
}

func TestCrash_keepsAPrefixWithAllThatIsSafe(t *testing.T) {
	first := *seedFlag
	if first == 0 {
		first = rand.Uint64()
	}
	crashes, lost := 0, 0
	for seed := first; seed < first+uint64(*runs); seed++ {
		c, l := runCrashes(t, seed)
		crashes, lost = crashes+c, lost+l
		if t.Failed() {
			t.Fatalf("repeat with -crash.seed %d -crash.runs 1", seed)
		}
	}
	t.Logf("from seed %d on: %d machines crashed, %d commits were only in their folders", first,
		crashes, lost)
}

// runCrashes lets machines crash one after the other; the next one has the folder that is left, or
// none. Some do not crash, but go on while the next one takes over.
func runCrashes(t *testing.T, seed uint64) (crashes, lost int) {
	h := newHistory(t, seed)
	server := faultstore.NewServer(memstore.New())
	disk := memfs.NewCrashable()
	var all []*machine
	pins := pinned{}
	defer func() {
		for _, m := range all {
			if m.db != nil {
				_ = m.db.Close() // most of them have crashed
			}
		}
	}()
	for range 6 {
		m := newMachine(t.Context(), server, disk, h.rng, false)
		all = append(all, m)
		m.run(t, h)
		made := len(h.states) - 1
		for n := server.UnderWay(); n > 0 && h.rng.IntN(3) > 0; n = server.UnderWay() {
			ok(t, server.Deliver(h.rng.IntN(n)))
		}
		if m.ctx.Err() != nil {
			crashes++
		}
		wantShipped(t, h, server, m)
		stalled := m.ctx.Err() == nil && h.rng.IntN(2) == 0
		if !stalled {
			m.crash()
		}
		if disk = memfs.NewCrashable(); !stalled && h.rng.IntN(2) == 0 {
			disk = m.image.CrashKeepAll()
			wantKept(t, h, m)
		}
		taker := newMachine(t.Context(), server, disk, h.rng, true)
		all = append(all, taker)
		taker.run(t, h)
		lost += max(0, made-int(taker.acked.Load()))
		if m.db != nil && m.db.Status().Epoch == taker.db.Status().Epoch {
			t.Fatal("two writers have one epoch")
		}
		if stalled && m.db != nil {
			_, _ = m.db.Collect(m.ctx) // it does not know yet that it is fenced
		}
		wantShipped(t, h, server, taker)
		pins.check(t, h, server)
		if stalled {
			m.wantFenced(t)
		}
		taker.crash()
		if disk = memfs.NewCrashable(); h.rng.IntN(2) == 0 {
			disk = taker.image.CrashKeepAll()
		}
	}
	wantNoLeftovers(t, h, server)
	return crashes, lost
}

// wantShipped wants a copy of what is in the store to have all that a machine has reported.
func wantShipped(t *testing.T, h *history, server *faultstore.Server, m *machine) {
	t.Helper()
	if m.db == nil {
		return
	}
	least := max(int(m.db.Status().Shipped), h.safe)
	number, err := h.check(restored(t, server.Client(nil)))
	if err == nil && number < least {
		err = fmt.Errorf("a copy is as after transaction %d, and %d were shipped", number, least)
	}
	ok(t, err)
}

// wantKept wants the disk of a crashed machine to have all that was acknowledged.
func wantKept(t *testing.T, h *history, m *machine) {
	t.Helper()
	if m.db == nil {
		return
	}
	db, err := tuned.Open(m.image.CrashKeepAll(), "db", &stoat.Options{}, tuned.Sizes()[4])
	ok(t, err)
	defer db.Close()
	h.wantAt(t, "the folder", db, int(m.leastKept))
}

// TestCrash_whileTheFirstFilesAreWritten crashes a machine at each operation of its disk until its
// first commit. The claim is in the store by then, so the next one restores to what is left.
func TestCrash_whileTheFirstFilesAreWritten(t *testing.T) {
	for _, keep := range []func(*memfs.FS) *memfs.FS{
		(*memfs.FS).CrashKeepAll, (*memfs.FS).CrashKeepNone,
	} {
		for at := int64(1); ; at++ {
			server := faultstore.NewServer(memstore.New())
			image := crashedAt(t, server, at, keep)
			if image == nil {
				break
			}
			next, err := open(t, server.Client(nil), image, quick(), engine.Tuning{})
			if err != nil {
				t.Fatalf("after a crash at operation %d: %v", at, err)
			}
			ok(t, next.Put([]byte("key"), []byte("value")))
			ok(t, next.Close())
		}
	}
}

// crashedAt lets a machine crash at the given operation of its disk, and returns what its disk
// keeps; nil if it was done before.
func crashedAt(
	t *testing.T, server *faultstore.Server, at int64, keep func(*memfs.FS) *memfs.FS,
) (image *memfs.FS) {
	client, disk := server.Client(nil), memfs.NewCrashable()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var count atomic.Int64
	files := faultfs.New(disk, func(faultfs.Op) error {
		if count.Add(1) == at {
			client.Crash()
			image = keep(disk)
			end()
		}
		return nil
	})
	o := quick()
	o.CloseTimeout = time.Millisecond
	if db, err := openUntil(ctx, client, files, o, engine.Tuning{}); err == nil {
		_ = db.Put([]byte("key"), nil) // it may have crashed
		_ = db.Close()
	}
	return image
}
