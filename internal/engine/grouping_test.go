package engine

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const groupedCallers = 16

// acknowledged counts the commits of each caller that have returned without an error.
type acknowledged [groupedCallers]atomic.Int64

// commitTogether has all callers commit numbered keys at once, n each, until they get an error.
func commitTogether(t testing.TB, e *Engine, n int, acks *acknowledged) {
	var done sync.WaitGroup
	for caller := range groupedCallers {
		done.Go(func() {
			for i := range n {
				err := tryCommit(e, dataKey("%02d-%04d", caller, i), []byte("v"))
				if errors.Is(err, ErrPoisoned) {
					return
				}
				if err != nil {
					t.Error(err)
				}
				acks[caller].Add(1)
			}
		})
	}
	done.Wait()
}

// wantAcknowledged checks that the database has the commits that were acknowledged.
func wantAcknowledged(t testing.TB, e *Engine, acks [groupedCallers]int64) {
	t.Helper()
	for caller, n := range acks {
		for i := range n {
			if _, ok := get(t, e, dataKey("%02d-%04d", caller, i)); !ok {
				t.Fatalf("commit %d of caller %d was acknowledged and is lost", i, caller)
			}
		}
	}
}

// load returns how many commits of each caller were acknowledged.
func (a *acknowledged) load() (n [groupedCallers]int64) {
	for caller := range a {
		n[caller] = a[caller].Load()
	}
	return n
}

func TestCommit_ofManyCallersSurvivesACrash(t *testing.T) {
	type cut struct {
		disk *memfs.FS
		acks [groupedCallers]int64
	}
	disk := memfs.NewCrashable()
	var acks acknowledged
	var mu sync.Mutex
	var cuts []cut
	rng := rand.New(rand.NewPCG(1, 2))
	e := mustOpen(t, faultfs.New(disk, func(op faultfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind.Mutates() && rng.IntN(8) == 0 {
			before := acks.load() // first, or the image may lack what is acknowledged meanwhile
			cuts = append(cuts, cut{disk.Crash(rng), before}, cut{disk.CrashKeepNone(), before})
		}
		return nil
	}), calm())
	commitTogether(t, e, 20, &acks)
	mu.Lock()
	defer mu.Unlock()
	for _, c := range cuts {
		reopened, err := Open(c.disk, "db", calm())
		ok(t, err)
		wantAcknowledged(t, reopened, c.acks)
		ok(t, reopened.Close())
	}
	wantAcknowledged(t, e, acks.load())
	if len(cuts) == 0 {
		t.Error("nothing was cut")
	}
}

func TestCommit_ofManyCallersFailsForAllOnceASyncFails(t *testing.T) {
	for _, keep := range []bool{true, false} {
		disk := memfs.NewCrashable()
		var acks acknowledged
		var syncs atomic.Int64
		e := mustOpen(t, faultfs.New(disk, func(op faultfs.Op) error {
			if is(faultfs.Sync, ".log")(op) && syncs.Add(1) > 5 {
				return errBroken
			}
			return nil
		}), calm())
		commitTogether(t, e, 1000, &acks)
		wantAcknowledged(t, e, acks.load())
		dead := disk.CrashKeepNone()
		if keep {
			dead = disk.CrashKeepAll()
		}
		reopened, err := Open(dead, "db", calm())
		ok(t, err)
		wantAcknowledged(t, reopened, acks.load())
		ok(t, reopened.Close())
	}
}

// TestClose_endsWhileManyCommit also ends if Close or a waiting writer is forgotten.
func TestClose_endsWhileManyCommit(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, calm())
	var acks acknowledged
	var done sync.WaitGroup
	for caller := range groupedCallers {
		done.Go(func() {
			for i := 0; ; i++ {
				err := tryCommit(e, dataKey("%02d-%04d", caller, i), []byte("v"))
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				acks[caller].Add(1)
			}
		})
	}
	for e.Visible() < 500 {
		ok(t, e.Sync())
	}
	ok(t, e.Close())
	done.Wait()
	wantAcknowledged(t, mustOpen(t, disk.CrashKeepNone(), calm()), acks.load())
}
