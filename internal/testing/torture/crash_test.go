package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// crashes are the flags of package crash.
var crashes = crash.Flags(1200, 3)

// points returns how many crashes to make, fewer with -short.
func points() int { return crashes.Points(testing.Short()) }

// TestCrash_recoversAPrefix crashes the file system at the operations of each workload. Before an
// operation, it copies the disk with none, all, or a random part of what was not synced, and
// recovers the database from the copy. The database must be in the state after some commit, none
// older than promised. It must take a write and another crash, and sometimes a third.
//
// Background work shifts the numbers of operations a little from run to run. A failure names its
// crash; reproduce it with its flags, and with -count if necessary.
func TestCrash_recoversAPrefix(t *testing.T) {
	total, seen := 0, newReuse()
	for _, w := range workloads {
		w.options.Logger = seen.logger()
		dry := newCrasher(w, crash.Sample{})
		if err := dry.play(); err != nil {
			t.Fatalf("%s without a crash: %v", w.name, err)
		}
		total += dry.Operations()
	}
	seen.check(t)
	sample := crashes.Sample(points(), total)
	for _, w := range workloads {
		if !crashes.Chosen(w.name) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := newCrasher(w, sample)
			if err := c.play(); err != nil {
				t.Fatal(err)
			}
			if err := c.Err(); err != nil {
				t.Fatalf("%v\nagain with %s -crash.only '%s'", err,
					crashes.Again("./internal/testing/torture", t.Name()), c.Failed())
			}
			t.Logf("trust: %d crash points", c.Points())
		})
	}
}

// TestCrash_noticesADiskThatLies tests the test: on a disk that ignores syncs, commits are lost.
func TestCrash_noticesADiskThatLies(t *testing.T) {
	w := workload{name: "lied-to", tuning: lazy, run: puts}
	c := newCrasher(w, crash.Sample{Seed: crashes.Seed, Kinds: 3, Share: 1})
	c.lie = true
	if err := c.play(); err != nil {
		t.Fatal(err)
	}
	if c.Err() == nil {
		t.Errorf("%d crashes of a disk that does not sync have lost nothing", c.Points())
	}
}

// crasher crashes copies of a workload's disk while it runs.
type crasher struct {
	workload
	*crash.Schedule
	disk *memfs.FS
	lie  bool // the disk does not sync
	line *timeline
}

// newCrasher returns a crasher that makes a sample of the possible crashes.
func newCrasher(w workload, sample crash.Sample) *crasher {
	c := &crasher{workload: w, disk: memfs.NewCrashable(), line: newTimeline()}
	c.Schedule = crash.NewSchedule(w.name, sample, c.crash)
	return c
}

// play runs the workload, with crashes at its operations and at its end.
func (c *crasher) play() error {
	var disk vfs.FS = c.disk
	if c.lie {
		disk = crash.Liar{FS: disk}
	}
	r := &runner{
		workload: c.workload,
		seed:     crashes.Seed,
		fs:       faultfs.New(disk, c.Before),
		line:     c.line,
		tolerate: func(err error) error { return err },
	}
	if err := r.start(); err != nil {
		return err
	}
	c.Now()
	return clean(c.plain(c.disk))
}

// crash copies the disk as one crash leaves it, and recovers the copy.
func (c *crasher) crash(kept crash.Kept, rng *rand.Rand) error {
	left, p := c.line.Cut(c.disk, kept, rng)
	clock := c.line.clock.Stopped() // not before any time that the database has seen
	if rng.IntN(64) == 0 {
		// The second crash keeps what the first one left, so the promise is that of the first.
		return c.crashRecovery(left.CrashKeepAll(), p, clock, rng)
	}
	return c.recover(left, p, clock, rng)
}

// recover opens a disk after a crash, checks it, writes to it and crashes it again.
func (c *crasher) recover(
	left *memfs.FS, p crash.Promise, clock *model.Clock, rng *rand.Rand,
) error {
	db, got, err := recovered(left, c.workload, clock)
	if err != nil {
		return err
	}
	found, err := c.line.match(got, p, clock)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	want := c.line.State(found).By(clock)
	if err := c.write(db, want, fmt.Sprint(found)); err != nil {
		return errors.Join(fmt.Errorf("after recovery of commit %d: %w", found, err), db.Close())
	}
	clock.Advance(time.Duration(rng.IntN(30)) * time.Millisecond)
	again := crash.AnyKept(rng).Of(left, rng)
	if err := db.Close(); err != nil {
		return fmt.Errorf("close after recovery: %w", err)
	}
	if err := clean(c.plain(left)); err != nil {
		return err
	}
	if err := c.crashAgain(again, want, clock, rng); err != nil {
		return fmt.Errorf("after a second crash: %w", err)
	}
	if err := c.holds(left.CrashKeepNone(), want, clock); err != nil {
		return fmt.Errorf("after Close: %w", err)
	}
	return nil
}

// write makes a durable commit, also in want.
func (c *crasher) write(db *stoat.DB, want *model.Bucket, value string) error {
	err := db.Update(func(tx *stoat.Tx) error {
		return twinOf(tx, want).put("written after the crash", value)
	})
	if err == nil && c.options.Sync == stoat.SyncNever {
		err = db.Sync()
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// crashAgain checks that the database is in exactly this state after a second crash, and one time
// in eight after a third.
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
	third := crash.AnyKept(rng).Of(left, rng)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	c.Count()
	if err := c.holds(third, want, clock); err != nil {
		return fmt.Errorf("after a third crash: %w", err)
	}
	return nil
}

// holds checks that the database on a disk is in exactly this state.
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

// crashRecovery recovers a disk after a crash, and crashes each operation of the recovery. Wherever
// the recovery was, the next one must find the same state.
func (c *crasher) crashRecovery(
	left *memfs.FS, p crash.Promise, clock *model.Clock, rng *rand.Rand,
) error {
	db, got, err := recovered(left.Kill(), c.workload, clock)
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
		c.Count()
		failed = c.holds(crash.AnyKept(rng).Of(left, rng), c.line.State(found), clock)
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

// clean checks that a closed database has left one manifest, the files that it names, and nothing
// else except the lock.
func clean(fs vfs.FS) error {
	state, err := manifest.Load(fs, "db")
	if err != nil {
		return err
	}
	copied := folder.ManifestCopy.Name(state.Number) // missing if a crash prevented it
	wanted := map[string]bool{folder.Manifest.Name(state.Number): true, copied: true, "LOCK": true}
	for t := range state.Version.Tables() {
		wanted[folder.Table.Name(t.Number)] = true
	}
	for _, f := range state.Version.ValueFiles {
		wanted[f.Name()] = true
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
