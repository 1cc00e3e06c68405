package layers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// crashes are the flags about crashes.
var crashes = crash.Flags(120, 10)

// points returns how many crashes to make, fewer if the tests are to be short.
func points() int { return crashes.Points(testing.Short()) }

// randFor returns the random numbers that belong to a name.
func randFor(name string) *rand.Rand { return crash.Rand(crashes.Seed, name) }

// crashAll crashes each workload at a sample of its operations.
//
// Background work shifts the numbers of operations a little from run to run. A failure names its
// crash; reproduce it with its flags, and with -count if necessary.
func crashAll[S state[S]](t *testing.T, all []workload[S]) {
	for _, w := range all {
		if !crashes.Chosen(w.name) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			dry := newCrasher(w, crash.Sample{})
			if err := dry.play(); err != nil {
				t.Fatalf("without a crash, -crash.seed %d: %v", crashes.Seed, err)
			}
			c := newCrasher(w, crashes.Sample(points(), len(all)*dry.Operations()))
			if err := c.play(); err != nil {
				t.Fatal(err)
			}
			if err := c.Err(); err != nil {
				t.Fatalf("%v\nagain with %s -crash.only '%s'", err,
					crashes.Again("./internal/testing/torture/layers", t.Name()), c.Failed())
			}
			t.Logf("trust: %d crash points", c.Points())
			t.Logf("%d operations", dry.Operations())
		})
	}
}

// noticesADiskThatLies tests the test: on a disk that ignores syncs, commits are lost.
func noticesADiskThatLies[S state[S]](t *testing.T, all []workload[S]) {
	t.Helper()
	for _, w := range all {
		if w.options.Sync != stoat.SyncAlways {
			continue
		}
		c := newCrasher(w, crash.Sample{Seed: crashes.Seed, Kinds: 3, Share: 0.1})
		c.lie = true
		if err := c.play(); err == nil && c.Err() == nil {
			t.Errorf("%s: %d crashes of a disk that does not sync have lost nothing", w.name,
				c.Points())
		}
		return
	}
}

// crasher crashes copies of a workload's disk while it runs.
type crasher[S state[S]] struct {
	workload[S]
	*crash.Schedule
	disk   *memfs.FS
	lie    bool // the disk does not sync
	runner *runner[S]
}

// newCrasher returns a crasher that makes the crashes of a sample.
func newCrasher[S state[S]](w workload[S], sample crash.Sample) *crasher[S] {
	c := &crasher[S]{workload: w, disk: memfs.NewCrashable()}
	c.Schedule = crash.NewSchedule(w.name, sample, func(kept crash.Kept, rng *rand.Rand) error {
		return c.recover(c.runner.cut(c.disk, kept, rng), rng)
	})
	return c
}

// play runs the workload, with crashes at its operations and its end, and checks the final state.
func (c *crasher[S]) play() error {
	var disk vfs.FS = c.disk
	if c.lie {
		disk = crash.Liar{FS: disk}
	}
	c.runner = newRunner(c.workload, faultfs.New(disk, c.Before), c.empty, randFor(c.name))
	if err := c.runner.play(); err != nil {
		return err
	}
	c.Now()
	return c.recover(c.runner.cut(c.disk, crash.All, nil), nil)
}

// image is a disk after a crash, and what must hold for it.
type image[S state[S]] struct {
	disk    *memfs.FS
	states  []S
	allowed crash.Promise
	durable bool
	told    claim[S]
}

// cut returns the image that a crash leaves now.
func (r *runner[S]) cut(disk *memfs.FS, kept crash.Kept, rng *rand.Rand) *image[S] {
	im := &image[S]{durable: r.durable(), told: r.on.told()}
	im.disk, im.allowed = r.line.Cut(disk, kept, rng)
	im.states = r.line.Until(im.allowed.Newest)
	return im
}

// recover opens an image and checks it. With random numbers, it works on the image and crashes it a
// second time meanwhile.
func (c *crasher[S]) recover(im *image[S], rng *rand.Rand) error {
	var again *runner[S]
	var second *image[S]
	var cuts *rand.Rand // another goroutine's
	var mu sync.Mutex
	left := 0
	fs := faultfs.New(im.disk, func(op faultfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if again != nil && op.Kind.Mutates() {
			if left--; left == 0 {
				second = again.cut(im.disk, crash.AnyKept(cuts), cuts)
			}
		}
		return nil
	})
	db, found, err := c.found(fs, im.states, im.allowed)
	if err != nil {
		return err
	}
	if err := im.told(db, im.states, found, im.durable); err != nil {
		return errors.Join(fmt.Errorf("state %d: %w", found, err), db.Close())
	}
	if rng == nil {
		return db.Close()
	}
	w := c.workload
	w.steps = 8
	mu.Lock()
	cuts, left = rand.New(rand.NewPCG(rng.Uint64(), 1)), rng.IntN(60)
	again = newRunner(w, fs, im.states[found], rng)
	mu.Unlock()
	again.db = db
	if err := again.play(); err != nil {
		return fmt.Errorf("after the recovery of state %d: %w", found, err)
	}
	if err := c.recover(again.cut(im.disk, crash.All, nil), nil); err != nil {
		return fmt.Errorf("closed, after the recovery of state %d: %w", found, err)
	}
	if second == nil {
		return nil
	}
	c.Count()
	if err := c.recover(second, nil); err != nil {
		return fmt.Errorf("a second crash, after the recovery of state %d: %w", found, err)
	}
	return nil
}
