package layers

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var errBroken = errors.New("input/output error on purpose")

// isFault reports whether an error comes from an injected fault.
func isFault(err error) bool { return errors.Is(err, errBroken) || errors.Is(err, vfs.ErrNoSpace) }

// faultAll makes a sample of the operations of each workload fail, on a broken or a full disk.
// Every error must be one that the caller can recognise. What was acknowledged must be there, and
// nothing else in part: at once, and after opening the database again, with and without a crash.
func faultAll[S state[S]](t *testing.T, all []workload[S]) {
	for _, w := range all {
		if w.parallel {
			continue // it is unknown which commit failed
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			healthy := &fault[S]{workload: w, hook: func(faultfs.Op) error { return nil }}
			if err := healthy.play(); err != nil {
				t.Fatalf("without a fault, -crash.seed %d: %v", crashes.Seed, err)
			}
			total := int(healthy.disk.Count())
			step := max(1, total*len(all)/max(1, points()/5))
			first := 1 + int(randFor(w.name).Uint64()%uint64(step))
			tried := 0
			for n := first; n <= total; n += step {
				f := &fault[S]{workload: w, cause: errBroken}
				f.hook = faultfs.FailAt(int64(n-1), f.cause)
				if tried++; tried%3 == 0 {
					f.cause = vfs.ErrNoSpace
					f.hook = faultfs.ShortWriteAt(int64(n-1), f.cause)
				}
				if err := f.play(); err != nil {
					t.Fatalf("operation %d of %d fails (%v): %v\nagain with %s -crash.points %d",
						n, total, f.cause, err,
						crashes.Again("./internal/testing/torture/layers", t.Name()), points())
				}
			}
			t.Logf("trust: %d fault points", tried)
		})
	}
}

// fault is a workload on a disk where one operation fails.
type fault[S state[S]] struct {
	workload[S]
	hook   faultfs.Hook // fails it
	cause  error        // how; nil if none fails
	disk   *faultfs.FS
	runner *runner[S]
}

// play runs the workload and then recovers it on the healthy disk, with and without a crash.
func (f *fault[S]) play() error {
	disk := memfs.NewCrashable()
	f.disk = faultfs.New(disk, f.hook)
	f.runner = newRunner(f.workload, f.disk, f.empty, randFor(f.name))
	f.runner.tolerate = f.tolerate
	if err := f.runner.play(); err != nil && !errors.Is(err, errStop) {
		return err
	}
	c := newCrasher(f.workload, crash.Sample{})
	if err := c.recover(f.runner.cut(disk, crash.None, nil), nil); err != nil {
		return fmt.Errorf("after a crash: %w", err)
	}
	if err := c.recover(f.runner.cut(disk, crash.All, nil), randFor(f.name+" again")); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	return nil
}

// tolerate checks that an error is one of the expected ones and that the layer is in an allowed
// state. If the database still takes writes, the workload continues from that state.
func (f *fault[S]) tolerate(err error) error {
	if !errors.Is(err, stoat.ErrPoisoned) && !errors.Is(err, f.cause) {
		return fmt.Errorf("an error of no known kind: %w", err)
	}
	if f.runner.db == nil {
		return errStop
	}
	p := f.runner.line.Promised(crash.All)
	if errors.Is(err, stoat.ErrPoisoned) {
		p = f.runner.line.Promised(crash.None)
	}
	found, findErr := f.find(f.runner.db, f.runner.line.Until(p.Newest)[p.Oldest:])
	switch {
	case errors.Is(err, stoat.ErrPoisoned) && errors.Is(findErr, stoat.ErrPoisoned):
		return errStop // opening the layer had to write
	case findErr != nil:
		return fmt.Errorf("after the error %w: of the states %d to %d: %w", err, p.Oldest,
			p.Newest, findErr)
	case errors.Is(err, stoat.ErrPoisoned):
		return errStop
	}
	f.runner.line.Settle(p.Oldest + found)
	return nil
}
