package remote_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
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
	runs     = flag.Int("crash.runs", 0, "how many histories with crashes; 0: 20, or 5 with -short")
	seedFlag = flag.Uint64("crash.seed", 0, "the first seed; 0: random")
)

// shortPatience is for how long a machine that has crashed asks the store.
const shortPatience = 200 * time.Millisecond

// machine is a process with a database, and what happens to it.
type machine struct {
	client *faultstore.Client
	disk   *memfs.FS // its folder
	files  vfs.FS    // the same, where operations are counted
	db     *remote.DB
	reader *remote.Reader // if it is a standby
	mode   remote.Durability
	least  int             // up to this transaction, its disk has all of them
	calm   bool            // it has no faults
	acked  atomic.Int64    // the newest commit that was acknowledged
	ctx    context.Context // ends with the machine
	end    context.CancelFunc

	mu        sync.Mutex
	rng       *rand.Rand
	image     *memfs.FS // what its disk keeps, once it has crashed
	leastKept int64     // acknowledged when it crashed
	points    int       // faults, and its crash
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
		if r.Op == faultstore.Get && strings.HasPrefix(r.Name, "data/") {
			return m.fate(1000) // there are many, and patience is short
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
	fate := faultstore.Fate(m.rng.IntN(int(faultstore.Late) + 1))
	if fate != faultstore.Answered {
		m.points++
	}
	return fate
}

// crash ends the machine: no request has an effect any more, and its disk is as it was.
func (m *machine) crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.image == nil {
		m.points++
		m.end()
		m.leastKept = m.acked.Load()
		m.client.Crash()
		m.image = m.disk.Crash(m.rng)
	}
}

// run opens the database and makes transactions until the machine crashes, or stops for others.
func (m *machine) run(t *testing.T, h *history) {
	o := forgetful()
	o.CloseTimeout, o.Durability, o.Patience = time.Millisecond, m.mode, shortPatience
	if len(h.states)%4 == 0 {
		o.LocalBytes = localLimit
	}
	if m.mode == remote.Wait && h.rng.IntN(2) == 0 { // what is acknowledged is synced all the same
		o.Database = &stoat.Options{Sync: stoat.SyncNever}
	}
	sizes := tuned.Sizes()
	db, err := m.open(o, sizes[h.rng.IntN(len(sizes))])
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
	for errors.Is(err, faultstore.ErrFailed) && m.ctx.Err() == nil {
		number, err = h.check(db.DB) // a standby has files in the store only, and asks again
	}
	if err != nil && m.ctx.Err() != nil {
		return // it has crashed when it asked the store for a file
	}
	ok(t, err)
	if least := max(h.safe, m.least); number < least {
		t.Fatalf("the database is as after transaction %d, and %d were acknowledged", number, least)
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

// stand makes a machine with an empty disk a standby, unless there is nothing to follow yet, or the
// store does not answer.
func (m *machine) stand() {
	o := impatient()
	o.Patience = shortPatience
	if r, err := remote.OpenReader(m.ctx, m.client, "", &o); err == nil {
		m.reader = r
	}
}

// tookOver returns 1 if the machine was a standby that has become the writer, and otherwise 0.
func (m *machine) tookOver() int64 {
	if m.reader != nil && m.db != nil {
		return 1
	}
	return 0
}

// close closes what the machine has open.
func (m *machine) close(t *testing.T) {
	if m.db != nil {
		_ = m.db.Close() // most of them have crashed
	}
	if m.reader != nil {
		ok(t, m.reader.Close())
	}
}

// open makes the machine the writer.
func (m *machine) open(o remote.Options, sizes engine.Tuning) (*remote.DB, error) {
	if m.reader == nil {
		return openUntil(m.ctx, m.client, m.files, o, sizes)
	}
	return takeOver(m.ctx, m.reader, m.files, o, sizes)
}

// wantFenced wants a machine that stopped, while another one took over, to have no effect.
func (m *machine) wantFenced(t *testing.T) {
	t.Helper()
	if m.db == nil || m.ctx.Err() != nil {
		return
	}
	err := m.db.Confirm(m.ctx)
	if m.ctx.Err() != nil {
		return // this request, or one in the background, was its last
	}
	wantErr(t, err, remote.ErrFenced)
	wantErr(t, m.db.Put([]byte("too late"), nil), remote.ErrFenced)
}

func TestCrash_keepsAPrefixWithAllThatIsSafe(t *testing.T) {
	t.Parallel()
	first := *seedFlag
	if first == 0 {
		first = rand.Uint64()
	}
	count := *runs
	if count == 0 {
		if count = 20; testing.Short() {
			count = 5
		}
	}
	var all tried
	t.Run("history", func(histories *testing.T) {
		for seed := first; seed < first+uint64(count); seed++ {
			histories.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel() // most of a history is waiting, after faults
				if histories.Failed() {
					return
				}
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("repeat with -crash.seed %d -crash.runs 1", seed)
					}
				})
				runCrashes(t, seed, &all)
			})
		}
	})
	t.Logf("from seed %d on: %d machines crashed, %d commits were only in their folders, %d standbys "+
		"took over", first, all.crashes.Load(), all.lost.Load(), all.standbys.Load())
	t.Logf("trust: %d %s", all.points.Load(), pointsNoun)
}

// pointsNoun is what module trust calls the points of histories, and faults at each request.
const pointsNoun = "crashes, stalls and faults of databases in object storage"

// tried is what histories of crashes went through. Safe for concurrent use.
type tried struct {
	crashes  atomic.Int64 // of machines on their own accord
	lost     atomic.Int64 // commits that were only in their folders
	standbys atomic.Int64 // which took over
	points   atomic.Int64 // crashes of all machines, stalls, faults, and requests that came late
}

// runCrashes lets machines crash one after the other; the next one has the folder that is left, or
// none. Some do not crash, but go on while the next one takes over.
func runCrashes(t *testing.T, seed uint64, sum *tried) {
	h := newHistory(t, seed)
	server := faultstore.NewServer(memstore.New())
	disk := memfs.NewCrashable()
	fresh := true
	var all []*machine
	pins := pinned{}
	defer func() {
		for _, m := range all {
			m.close(t)
			sum.points.Add(int64(m.points))
		}
	}()
	for range 6 {
		m := newMachine(t.Context(), server, disk, h.rng, false)
		all = append(all, m)
		if fresh && h.rng.IntN(2) == 0 {
			m.stand()
		}
		next := newMachine(t.Context(), server, memfs.NewCrashable(), h.rng, true)
		if h.rng.IntN(2) == 0 {
			next.stand() // and follows what m ships
		}
		all = append(all, next)
		m.run(t, h)
		made := len(h.states) - 1
		for n := server.UnderWay(); n > 0 && h.rng.IntN(3) > 0; n = server.UnderWay() {
			ok(t, server.Deliver(h.rng.IntN(n)))
			sum.points.Add(1)
		}
		if m.ctx.Err() != nil {
			sum.crashes.Add(1)
		}
		wantShipped(t, h, server, m)
		stalled := m.ctx.Err() == nil && h.rng.IntN(2) == 0
		if stalled {
			sum.points.Add(1)
		} else {
			m.crash()
		}
		taker := next
		if !stalled && next.reader == nil && h.rng.IntN(2) == 0 {
			disk = m.image.CrashKeepAll()
			taker = newMachine(t.Context(), server, disk, h.rng, true)
			taker.least = int(m.leastKept)
			all = append(all, taker)
		}
		taker.run(t, h)
		sum.lost.Add(max(0, int64(made)-taker.acked.Load()))
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
		sum.standbys.Add(m.tookOver() + taker.tookOver())
		taker.crash()
		if disk, fresh = memfs.NewCrashable(), h.rng.IntN(2) == 0; !fresh {
			disk = taker.image.CrashKeepAll()
		}
	}
	wantNoLeftovers(t, h, server)
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
