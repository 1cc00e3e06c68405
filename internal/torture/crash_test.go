package torture

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/model"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/internal/wal"
)

var (
	crashPoints = flag.Int("crash.points", 2000,
		"about how many crashes to make at operations; those of recoveries come on top")
	crashSeed = flag.Uint64("crash.seed", 1, "seed of the workloads and of what a crash keeps")
	crashOnly = flag.String("crash.only", "", "the one crash to make, as workload/operation/variant")
)

// points returns how many crashes to make, fewer if the tests are to be short.
func points() int {
	if testing.Short() {
		return *crashPoints / 5
	}
	return *crashPoints
}

// TestCrash_recoversAPrefix crashes the file system at the operations of each workload: before each
// of them, copies of the disk are made that keep nothing of what was not synced, all of it, or a
// random part, and the database is recovered from them. It must be in the state after some commit,
// none older than promised, and it must take a write and another crash, and sometimes a third.
//
// Background work makes the numbers of operations shift a little from run to run; a failure names
// its crash so that it can be made again, with -count if need be.
func TestCrash_recoversAPrefix(t *testing.T) {
	only, _, _ := strings.Cut(*crashOnly, "/")
	total, seen := 0, newKept()
	for _, w := range workloads {
		w.options.Logger = seen.logger()
		total += dryRun(t, w)
	}
	seen.check(t)
	variants := max(3, points()/total)
	share := float64(points()) / float64(total*variants)
	for _, w := range workloads {
		if only != "" && only != w.name {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := &crasher{workload: w, variants: variants, share: share}
			if err := c.play(); err != nil {
				t.Fatal(err)
			}
			if c.err != nil {
				t.Fatalf("crash %s: %v\nagain with go test ./internal/torture "+
					"-run TestCrash_recoversAPrefix -crash.seed %d -crash.only '%s'",
					c.failed, c.err, *crashSeed, c.failed)
			}
			t.Logf("trust: %d crash points", c.points)
		})
	}
}

// liar is a disk that says it has synced files, and has not.
type liar struct{ vfs.FS }

func (l liar) Create(name string) (vfs.File, error) {
	f, err := l.FS.Create(name)
	return liarFile{f}, err
}

type liarFile struct{ vfs.File }

func (liarFile) Sync() error { return nil }

// TestCrash_noticesADiskThatLies tests the test: without syncs, commits get lost.
func TestCrash_noticesADiskThatLies(t *testing.T) {
	w := workload{name: "lied-to", tuning: lazy, run: puts}
	c := &crasher{workload: w, variants: 3, share: 1, lie: true}
	if err := c.play(); err != nil {
		t.Fatal(err)
	}
	if c.err == nil {
		t.Errorf("%d crashes of a disk that does not sync have lost nothing", c.points)
	}
}

// crasher crashes copies of a workload's disk while it runs.
type crasher struct {
	workload
	disk     *memfs.FS
	lie      bool // the disk does not sync
	line     *timeline
	variants int     // different crashes at an operation
	share    float64 // how many of them are made

	mu     sync.Mutex // operations come from background goroutines too
	at     int        // operations so far
	points int        // crashes so far
	failed string     // the crash that failed first
	err    error      // how
}

// dryRun runs a workload without a crash and returns how many operations it makes.
func dryRun(t *testing.T, w workload) int {
	t.Helper()
	c := &crasher{workload: w}
	if err := c.play(); err != nil {
		t.Fatalf("%s without a crash: %v", w.name, err)
	}
	return c.at
}

// play runs the workload with crashes at its operations and at its end.
func (c *crasher) play() error {
	c.disk, c.line = memfs.NewCrashable(), newTimeline()
	var disk vfs.FS = c.disk
	if c.lie {
		disk = liar{disk}
	}
	r := &runner{
		workload: c.workload,
		seed:     *crashSeed,
		fs:       faultfs.New(disk, c.before),
		line:     c.line,
		tolerate: func(err error) error { return err },
	}
	if err := r.start(); err != nil {
		return err
	}
	return errors.Join(c.before(faultfs.Op{Kind: faultfs.Sync}), clean(c.disk))
}

// before makes the crashes that are due before an operation on the disk.
func (c *crasher) before(op faultfs.Op) error {
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
		if err := c.crash(v, rng); err != nil {
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

// powerCut returns a copy of the disk as a crash leaves it.
func powerCut(disk *memfs.FS, v int, rng *rand.Rand) *memfs.FS {
	switch v {
	case keepNone:
		return disk.CrashKeepNone()
	case keepAll:
		return disk.Kill()
	}
	return disk.Crash(rng)
}

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

// dice returns the random numbers of the crash with this name.
func dice(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(*crashSeed, h.Sum64()))
}

// crash copies what one crash leaves of the disk, and recovers it. What was acknowledged before the
// copy must be in it; what began before its end may.
func (c *crasher) crash(v int, rng *rand.Rand) error {
	acked, synced, _ := c.line.marks()
	left := powerCut(c.disk, v, rng)
	_, _, begun := c.line.marks()
	clock := c.line.clock.Stopped() // no earlier than any moment that the database has seen
	p := promise{oldest: synced, newest: begun}
	if v == keepAll { // the process died, the system did not
		p.oldest = acked
	}
	if rng.IntN(64) == 0 {
		// What is there stays there in the second crash: the promise is one of what this one left.
		return c.crashRecovery(left.CrashKeepAll(), p, clock, rng)
	}
	return c.recover(left, p, clock, rng)
}

// recover opens what a crash left, checks it, writes to it and crashes it again.
func (c *crasher) recover(
	left *memfs.FS, p promise, clock *model.Clock, rng *rand.Rand,
) error {
	db, got, err := recovered(left, c.workload, clock)
	if err != nil {
		return err
	}
	found, err := c.line.match(got, p, clock)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	want := c.line.state(found).By(clock)
	if err := c.write(db, want, fmt.Sprint(found)); err != nil {
		return errors.Join(fmt.Errorf("after recovery of commit %d: %w", found, err), db.Close())
	}
	clock.Advance(time.Duration(rng.IntN(30)) * time.Millisecond)
	again := powerCut(left, rng.IntN(3), rng)
	if err := db.Close(); err != nil {
		return fmt.Errorf("close after recovery: %w", err)
	}
	if err := clean(left); err != nil {
		return err
	}
	if err := c.crashAgain(again, want, clock, rng); err != nil {
		return fmt.Errorf("after a second crash: %w", err)
	}
	if err := c.holds(powerCut(left, keepNone, rng), want, clock); err != nil {
		return fmt.Errorf("after Close: %w", err)
	}
	return nil
}

// write commits something durably, and notes it in want.
func (c *crasher) write(db *stoat.DB, want *model.Bucket, value string) error {
	err := db.Update(func(tx *stoat.Tx) error {
		return twin{tx, want}.put("written after the crash", value)
	})
	if err == nil && c.options.Sync == stoat.SyncNever {
		err = db.Sync()
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// crashAgain checks that the database on a disk, which a second crash has left, is in one state and
// no other; one in eight times after a third crash, too.
func (c *crasher) crashAgain(
	left *memfs.FS, want *model.Bucket, clock *model.Clock, rng *rand.Rand,
) error {
	if rng.IntN(8) > 0 {
		return c.holds(left, want, clock)
	}
	db, got, err := recovered(left, c.workload, clock)
	if err != nil {
		return err
	}
	want = want.By(clock)
	if d := model.Diff(got, want); d != "" {
		return errors.Join(errors.New(d), db.Close())
	}
	err = c.write(db, want, "again")
	third := powerCut(left, rng.IntN(3), rng)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	c.points++
	if err := c.holds(third, want, clock); err != nil {
		return fmt.Errorf("after a third crash: %w", err)
	}
	return nil
}

// holds checks that the database on a disk is in one state and no other.
func (c *crasher) holds(fs vfs.FS, want *model.Bucket, clock *model.Clock) error {
	db, got, err := recovered(fs, c.workload, clock)
	if err != nil {
		return err
	}
	if d := model.Diff(got, want.By(clock)); d != "" {
		err = errors.New(d)
	}
	return errors.Join(err, db.Close())
}

// crashRecovery recovers what a crash left, and crashes that at each operation. Whatever recovery
// did by then, the state that it found must be found again.
func (c *crasher) crashRecovery(
	left *memfs.FS, p promise, clock *model.Clock, rng *rand.Rand,
) error {
	db, got, err := recovered(powerCut(left, keepAll, rng), c.workload, clock)
	if err != nil {
		return err
	}
	found, err := c.line.match(got, p, clock)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	var mu sync.Mutex
	var failed error
	fs := faultfs.New(left, func(op faultfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if !op.Kind.Mutates() || failed != nil {
			return nil
		}
		c.points++
		failed = c.holds(powerCut(left, rng.IntN(3), rng), c.line.state(found), clock)
		return nil
	})
	if db, _, err = recovered(fs, c.workload, clock); err == nil {
		err = db.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("crash during the recovery of commit %d: %w", found, err)
	}
	return nil
}

// clean checks that a closed database has left one manifest, the files that it names, and no other,
// but for the lock.
func clean(fs vfs.FS) error {
	state, err := manifest.Load(fs, "db")
	if err != nil {
		return err
	}
	copied := manifest.CopyName(state.Number) // a crash may have kept it from being made
	wanted := map[string]bool{manifest.Name(state.Number): true, copied: true, "LOCK": true}
	for t := range state.Version.Tables() {
		wanted[run.Name(t.Number)] = true
	}
	for _, f := range state.Version.ValueFiles {
		if f.Log {
			wanted[wal.Name(f.Number)] = true
		} else {
			wanted[valuelog.Name(f.Number)] = true
		}
	}
	names, err := fs.List("db")
	for _, name := range names {
		if !wanted[name] {
			return fmt.Errorf("%s is left after Close", name)
		}
		delete(wanted, name)
	}
	delete(wanted, "LOCK")
	if delete(wanted, copied); len(wanted) > 0 {
		return fmt.Errorf("after Close, of the manifest's files these are missing: %v", wanted)
	}
	return errors.Join(err, manifest.CheckCopy(fs, "db", state.Number))
}
