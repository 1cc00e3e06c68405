package torture

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestCrashFault_keepsWhatWasAcknowledged makes operations of each workload fail: once, for a while
// or for good, on a full or a broken disk; or it delays them. The flag -crash.points limits how
// many. Nothing may panic, every error must be of a known kind, reading must go on, and opening the
// database again on a healthy disk must find every acknowledged commit.
func TestCrashFault_keepsWhatWasAcknowledged(t *testing.T) {
	for _, w := range workloads {
		if w.parallel {
			continue // it is unknown which commit failed
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			healthy := &fault{workload: w}
			if err := healthy.play(); err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			total := int(healthy.operations.Load())
			runs := max(1, points()/8/len(workloads))
			step := max(1, total/runs)
			tried := 0
			for n := 1 + int(crashes.Seed)%step; n <= total; n += step {
				for _, f := range faults(w, int64(n)) {
					if err := f.play(); err != nil {
						t.Fatalf("operation %d of %d fails %s: %v\nagain with %s -crash.points %d",
							n, total, f.name, err, crashes.Again("./internal/testing/torture", t.Name()),
							points())
					}
					tried++
				}
			}
			t.Logf("trust: %d fault points", tried)
		})
	}
}

var errBroken = errors.New("input/output error on purpose")

// fault is a workload on a disk with one fault.
type fault struct {
	workload
	name       string
	first      int64 // the first operation to fail; 0 for none
	last       int64 // and the last
	short      bool  // half of the write succeeds
	cause      error // nil for a delay
	operations atomic.Int64
	line       *timeline
	runner     *runner
}

func faults(w workload, n int64) []*fault {
	return []*fault{
		{workload: w, first: n, last: n, cause: errBroken, name: "once"},
		{workload: w, first: n, last: n, cause: vfs.ErrNoSpace, short: true, name: "for lack of space"},
		{workload: w, first: n, last: n + 20, cause: vfs.ErrNoSpace, name: "until there is space again"},
		{workload: w, first: n, last: math.MaxInt64, cause: errBroken, name: "like all after it"},
		{workload: w, first: n, last: n + 2, name: "by taking long"},
	}
}

// play runs the workload and recovers it on the healthy disk, with and without a crash.
func (f *fault) play() error {
	disk := memfs.NewCrashable()
	f.line = newTimeline()
	f.runner = &runner{
		workload: f.workload,
		seed:     crashes.Seed,
		fs:       faultfs.New(disk, f.before),
		line:     f.line,
		tolerate: f.tolerate,
	}
	if err := f.runner.start(); err != nil && !errors.Is(err, errStop) {
		return err
	}
	if err := f.finds(disk.CrashKeepNone(), f.line.Promised(crash.None)); err != nil {
		return fmt.Errorf("after a crash: %w", err)
	}
	if err := f.finds(disk, f.line.Promised(crash.All)); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	return nil
}

// before makes the operation fail if it is its turn.
func (f *fault) before(op faultfs.Op) error {
	n := f.operations.Add(1)
	switch {
	case f.first == 0 || n < f.first || n > f.last:
		return nil
	case f.cause == nil:
		for range 1000 { // lets others go on
			runtime.Gosched()
		}
		return nil
	case op.Kind == faultfs.WriteAt && f.short:
		return &faultfs.ShortWrite{Bytes: op.Bytes / 2, Err: f.cause}
	}
	return f.cause
}

// tolerate checks that an error is of a known kind, and that a poisoned database can still be read.
func (f *fault) tolerate(err error) error {
	if !errors.Is(err, stoat.ErrPoisoned) {
		if f.cause != nil && errors.Is(err, f.cause) {
			return nil
		}
		return fmt.Errorf("an error of no known kind: %w", err)
	}
	p := f.line.Promised(crash.None)
	got, err := dumpDB(f.runner.db)
	if errors.Is(err, stoat.ErrClosed) || f.last > f.first && errors.Is(err, f.cause) {
		return errStop
	}
	if err == nil {
		_, err = f.line.match(got, p, f.line.clock)
	}
	if err != nil {
		return fmt.Errorf("reading a poisoned database: %w", err)
	}
	if err := f.runner.db.Put([]byte("k"), nil); !errors.Is(err, stoat.ErrPoisoned) {
		return fmt.Errorf("writing to a poisoned database: %v, want %w", err, stoat.ErrPoisoned)
	}
	return errStop
}

// TestCrashFault_fullDiskIsNoDisaster fills a disk until commits fail for lack of space. Reading
// must go on, no acknowledged commit may be lost, and once there is space, writing must go on
// without opening the database again.
func TestCrashFault_fullDiskIsNoDisaster(t *testing.T) {
	quota, disk := faultfs.NewQuota(200<<10), memfs.NewCrashable()
	r := &runner{
		workload: workload{name: "full disk", tuning: lazy},
		fs:       faultfs.New(disk, quota.Hook),
		line:     newTimeline(),
		tolerate: func(err error) error { return err },
	}
	ok(t, r.open())
	written := 0
	write := func() error {
		return r.update(func(t twin) error {
			written++
			return t.put(fmt.Sprint("key-", written), strings.Repeat(fmt.Sprint(written), 500))
		})
	}
	var err error
	for err == nil && written < 10_000 {
		err = write()
	}
	wantErr(t, err, stoat.ErrNoSpace)
	if errors.Is(err, stoat.ErrPoisoned) {
		t.Fatalf("a full disk poisons the database: %v", err)
	}
	got, err := dumpDB(r.db)
	ok(t, err)
	_, err = r.line.match(got, r.line.Promised(crash.All), r.line.clock)
	ok(t, err)

	quota.Add(10 << 20)
	deadline := time.After(30 * time.Second)
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for err = write(); err != nil; err = write() {
		select {
		case <-retry.C:
		case <-deadline:
			t.Fatalf("with space again, writing still fails: %v", err)
		}
	}
	ok(t, r.reopen())
	ok(t, r.close())
}

// finds opens the database on a healthy disk.
func (f *fault) finds(disk vfs.FS, p crash.Promise) error {
	db, got, err := recovered(disk, f.workload, f.line.clock)
	if err != nil {
		return err
	}
	_, err = f.line.match(got, p, f.line.clock)
	return errors.Join(err, db.Close())
}
