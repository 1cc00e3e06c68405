package commit

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// held is a file system whose syncs of files wait to be let go, one by one.
type held struct {
	vfs.FS
	began, let chan struct{}
}

func newHeld() *held {
	h := &held{began: make(chan struct{}), let: make(chan struct{})}
	h.FS = hooked(faultfs.Sync, func() error {
		h.began <- struct{}{}
		<-h.let
		return nil
	})
	return h
}

// waiters starts a goroutine for each commit that waits for it.
func (d *database) waiters(t testing.TB, commits ...uint64) *sync.WaitGroup {
	var waiting sync.WaitGroup
	for _, commit := range commits {
		waiting.Go(func() {
			if err := d.Wait(commit); err != nil {
				t.Error(err)
			}
		})
	}
	return &waiting
}

func TestWait_endsWithTheSyncThatCoversIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		d := newDatabase(t, h, durable)
		first := d.waiters(t, d.append(t, "a"))
		<-h.began
		second := d.waiters(t, d.append(t, "b"), d.append(t, "c"))
		synctest.Wait() // until they wait
		h.let <- struct{}{}
		first.Wait() // though nobody has let the second sync go
		<-h.began
		third := d.waiters(t, d.append(t, "d"))
		synctest.Wait()
		h.let <- struct{}{}
		second.Wait()
		<-h.began
		h.let <- struct{}{}
		third.Wait()
		d.wantPublished(t, 1, 3, 4)
	})
}

// TestGather_waitsForCallersOfTheLastSync has a caller append its next commit while the leader
// gathers, which is when it first reads the clock.
func TestGather_waitsForCallersOfTheLastSync(t *testing.T) {
	var d *database
	var other func()
	c := durable
	c.Clock = func() time.Duration {
		if next := other; next != nil {
			other = nil
			next()
		}
		return 0
	}
	d = newDatabase(t, memfs.New(), c)
	d.append(t, "a")
	ok(t, d.Wait(d.append(t, "b")))
	d.append(t, "c")
	other = func() { d.append(t, "d") }
	ok(t, d.Wait(3))
	d.wantPublished(t, 2, 4)
}

func TestGather_endsWithoutTheCallersOfTheLastSync(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	for range 9 {
		d.append(t, "a")
	}
	ok(t, d.Sync())
	d.commit(t, "b", "c")
	d.wantPublished(t, 9, 10, 11)
}

func TestGather_endsWhenItTakesLongerThanASync(t *testing.T) {
	var now time.Duration
	c := durable
	c.Clock = func() time.Duration { now += time.Millisecond; return now }
	d := newDatabase(t, memfs.New(), c)
	for range 1000 {
		d.append(t, "a")
	}
	ok(t, d.Sync()) // which takes a millisecond
	before := now
	d.commit(t, "b")
	if took := now - before; took > 5*time.Millisecond {
		t.Errorf("the clock was read %d times", took/time.Millisecond)
	}
}

// TestGather_isRareWhereYieldsTakeLong has each reading of the clock take as long as a yield beside
// goroutines that compute.
func TestGather_isRareWhereYieldsTakeLong(t *testing.T) {
	var now, step time.Duration
	c := durable
	c.Clock = func() time.Duration { now += step; return now }
	d := newDatabase(t, memfs.New(), c)
	// turns returns how many of n turns of two callers, one of which stays away, gather.
	turns := func(n int) (gathered int) {
		for range n {
			step = 0
			d.append(t, "a")
			d.append(t, "b")
			ok(t, d.Sync())
			step = 2 * busyYield
			before := now
			d.commit(t, "c")
			if now-before > 2*step { // a sync reads the clock twice
				gathered++
			}
			step = 0
			d.commit(t, "d")
		}
		return gathered
	}
	if n := turns(1000); n == 0 || n > 20 {
		t.Errorf("%d of 1,000 turns gather, want a few", n)
	}
}

func TestGather_isNotForALoneCaller(t *testing.T) {
	reads := 0
	c := durable
	c.Clock = func() time.Duration { reads++; return 0 }
	d := newDatabase(t, memfs.New(), c)
	d.commit(t, "a", "b")
	before := reads
	d.commit(t, "c")
	if n := reads - before; n > 2 {
		t.Errorf("the clock was read %d times, want 2 around the sync", n)
	}
}

// TestPipeline_servesManyCallersOverAndOver also ends if any of them is forgotten.
func TestPipeline_servesManyCallersOverAndOver(t *testing.T) {
	for _, callers := range []int{1, 2, 8, 64} {
		d := newDatabase(t, memfs.New(), durable)
		var appending sync.Mutex
		var done sync.WaitGroup
		for n := range callers {
			done.Go(func() {
				for i := range 2000 / callers {
					appending.Lock()
					commit := d.append(t, "a")
					appending.Unlock()
					wait := d.Wait
					if n%8 == 7 && i%3 == 0 {
						wait = func(uint64) error { return d.Sync() }
					}
					if err := wait(commit); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done.Wait()
		if !slices.IsSorted(d.published) || d.published[len(d.published)-1] != d.Newest() {
			t.Errorf("%d callers: published %v", callers, d.published)
		}
	}
}

func TestPipeline_failsAllWhoWaitOnceASyncFails(t *testing.T) {
	const callers = 64
	var syncs atomic.Int64
	d := newDatabase(t, hooked(faultfs.Sync, func() error {
		if syncs.Add(1) > 20 {
			return errBroken
		}
		return nil
	}), durable)
	var appending sync.Mutex
	var acknowledged atomic.Uint64
	var done sync.WaitGroup
	for range callers {
		done.Go(func() {
			for {
				appending.Lock()
				if d.Reserve(1<<10) != nil {
					appending.Unlock()
					return
				}
				commit, _ := d.Append(d.edit("a"))
				appending.Unlock()
				err := d.Wait(commit)
				if err == nil {
					acknowledged.Store(max(acknowledged.Load(), commit))
				} else if !errors.Is(err, errBroken) {
					t.Error(err)
				}
				if err != nil {
					return
				}
			}
		})
	}
	done.Wait()
	if last := d.published[len(d.published)-1]; acknowledged.Load() > last {
		t.Errorf("commit %d was acknowledged, and published up to %d", acknowledged.Load(), last)
	}
}

// A leader that was announced by Stream and has not begun yet is waited for like one that has.
func TestWait_isNotForgottenBesideAStreamAndACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spawned []func()
		d := newDatabase(t, memfs.New(), durable)
		d.config.Spawn = func(fn func()) { spawned = append(spawned, fn) }
		commit := d.append(t, "a")
		edit := d.edit("b")
		ok(t, d.Reserve(1<<10))
		d.Stream(edit)
		spawned[0]() // takes the commit along, but does not sync it
		edit.PutUntil([]byte("c"), []byte("c"), 0)
		d.Stream(edit)
		var done sync.WaitGroup
		done.Go(func() { d.Written() })
		synctest.Wait()
		waiting := d.waiters(t, commit)
		synctest.Wait()
		spawned[1]()
		done.Wait()
		waiting.Wait()
		d.wantPublished(t, 1)
		d.Rollback()
		edit.Rollback()
	})
}
