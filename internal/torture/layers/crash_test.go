package layers

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var (
	crashPoints = flag.Int("crash.points", 120,
		"about how many crashes to make at operations for each layer; second ones come on top")
	crashSeed = flag.Uint64("crash.seed", 1, "seed of the workloads and of what a crash keeps")
	crashOnly = flag.String("crash.only", "",
		"the one crash to make, as workload/operation/variant")
)

// points returns how many crashes to make, fewer if the tests are to be short.
func points() int {
	if testing.Short() {
		return *crashPoints / 10
	}
	return *crashPoints
}

// crashAll crashes each workload at a sample of its operations.
//
// Background work makes the numbers of operations shift a little from run to run; a failure names
// its crash so that it can be made again, with -count if need be.
func crashAll[S state[S]](t *testing.T, all []workload[S]) {
	only, _, _ := strings.Cut(*crashOnly, "/")
	for _, w := range all {
		if only != "" && only != w.name {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			dry := &crasher[S]{workload: w}
			if err := dry.play(); err != nil {
				t.Fatalf("without a crash, -crash.seed %d: %v", *crashSeed, err)
			}
			const variants = 3
			share := float64(points()) / float64(len(all)*dry.at*variants)
			c := &crasher[S]{workload: w, variants: variants, share: share}
			if err := c.play(); err != nil {
				t.Fatal(err)
			}
			if c.err != nil {
				t.Fatalf("crash %s: %v\nagain with go test ./internal/torture/layers -run %s "+
					"-crash.seed %d -crash.only '%s'", c.failed, c.err, t.Name(), *crashSeed,
					c.failed)
			}
			t.Logf("trust: %d crash points", c.points)
			t.Logf("%d operations", dry.at)
		})
	}
}

// crasher crashes copies of a workload's disk while it runs.
type crasher[S state[S]] struct {
	workload[S]
	lie      bool // the disk does not sync
	disk     *memfs.FS
	runner   *runner[S]
	variants int     // different crashes at an operation
	share    float64 // how many of them are made

	mu     sync.Mutex // operations come from other goroutines too
	at     int        // operations so far
	points int        // crashes so far
	failed string     // the crash that failed first
	err    error      // how
}

// play runs the workload with crashes at its operations and at its end, and looks at what it
// leaves.
func (c *crasher[S]) play() error {
	c.disk = memfs.NewCrashable()
	var disk vfs.FS = c.disk
	if c.lie {
		disk = liar{disk}
	}
	fs := faultfs.New(disk, c.before)
	c.runner = newRunner(c.workload, fs, c.empty, dice(c.name))
	if err := c.runner.play(); err != nil {
		return err
	}
	if err := c.before(faultfs.Op{Kind: faultfs.Sync}); err != nil {
		return err
	}
	return c.recover(c.runner.cut(c.disk, keepAll, nil), nil)
}

// before makes the crashes that are due before an operation on the disk.
func (c *crasher[S]) before(op faultfs.Op) error {
	if !op.Kind.Mutates() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for v := range c.variants {
		name := fmt.Sprintf("%s/%d/%s", c.name, c.at, variant(v))
		rng := dice(name)
		due := rng.Float64() < c.share
		if *crashOnly != "" {
			due = name == *crashOnly
		}
		if !due || c.err != nil {
			continue
		}
		c.points++
		if err := c.recover(c.runner.cut(c.disk, v, rng), rng); err != nil {
			c.failed, c.err = name, err
		}
	}
	c.at++
	return nil
}

// What a crash keeps of what was not synced; higher numbers keep a random part.
const (
	keepNone = iota
	keepAll
)

// variant names what a crash keeps.
func variant(v int) string {
	switch v {
	case keepNone:
		return "none"
	case keepAll:
		return "all"
	}
	return fmt.Sprint("random-", v)
}

// dice returns the random numbers of what has this name.
func dice(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(*crashSeed, h.Sum64()))
}

// image is what a crash leaves, and what must be true of it.
type image[S state[S]] struct {
	disk    *memfs.FS
	states  []S
	allowed promise
	durable bool
	told    claim[S]
}

// cut returns what a crash leaves of the disk at this moment. What was acknowledged before must be
// in it; what began before its end may.
func (r *runner[S]) cut(disk *memfs.FS, v int, rng *rand.Rand) *image[S] {
	acked, synced, _ := r.line.marks()
	im := &image[S]{durable: r.durable(), told: r.on.told()}
	im.allowed.oldest = synced
	switch v {
	case keepNone:
		im.disk = disk.CrashKeepNone()
	case keepAll: // the process died, the system did not
		im.disk, im.allowed.oldest = disk.Kill(), acked
	default:
		im.disk = disk.Crash(rng)
	}
	_, _, im.allowed.newest = r.line.marks()
	im.states = r.line.until(im.allowed.newest)
	return im
}

// recover opens what a crash left and checks it. With random numbers, it does some more work on it,
// during which there is a second crash.
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
				second = again.cut(im.disk, cuts.IntN(3), cuts)
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
	if err := c.recover(again.cut(im.disk, keepAll, nil), nil); err != nil {
		return fmt.Errorf("closed, after the recovery of state %d: %w", found, err)
	}
	if second == nil {
		return nil
	}
	c.points++
	if err := c.recover(second, nil); err != nil {
		return fmt.Errorf("a second crash, after the recovery of state %d: %w", found, err)
	}
	return nil
}

// liar is a disk that says it has synced files, and has not.
type liar struct{ vfs.FS }

func (l liar) Create(name string) (vfs.File, error) {
	f, err := l.FS.Create(name)
	return liarFile{f}, err
}

type liarFile struct{ vfs.File }

func (liarFile) Sync() error { return nil }

// noticesADiskThatLies tests the test: without syncs, commits get lost.
func noticesADiskThatLies[S state[S]](t *testing.T, all []workload[S]) {
	t.Helper()
	for _, w := range all {
		if w.options.Sync != stoat.SyncAlways {
			continue
		}
		c := &crasher[S]{workload: w, lie: true, variants: 3, share: 0.1}
		if err := c.play(); err == nil && c.err == nil {
			t.Errorf("%s: %d crashes of a disk that does not sync have lost nothing", w.name,
				c.points)
		}
		return
	}
}
