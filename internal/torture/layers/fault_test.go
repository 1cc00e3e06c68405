package layers

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var errBroken = errors.New("input/output error on purpose")

// isFault reports whether an operation has failed because it was to.
func isFault(err error) bool { return errors.Is(err, errBroken) || errors.Is(err, vfs.ErrNoSpace) }

// faultAll lets an operation of each workload fail, once, with a broken disk or a full one: a
// sample of all. Every error must say what it is; what was acknowledged, and no half of anything
// else, must be there then, and after opening the database again, with and without a crash.
func faultAll[S state[S]](t *testing.T, all []workload[S]) {
	if *crashOnly != "" {
		t.Skip("-crash.only is about another test")
	}
	for _, w := range all {
		if w.parallel {
			continue // which commit failed would be anyone's guess
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			healthy := &fault[S]{workload: w}
			if err := healthy.play(); err != nil {
				t.Fatalf("without a fault, -crash.seed %d: %v", *crashSeed, err)
			}
			total := int(healthy.operations.Load())
			step := max(1, total*len(all)/max(1, points()/5))
			first := 1 + int(dice(w.name).Uint64()%uint64(step))
			tried := 0
			for n := first; n <= total; n += step {
				f := &fault[S]{workload: w, at: int64(n), cause: errBroken}
				if tried++; tried%3 == 0 {
					f.cause, f.short = vfs.ErrNoSpace, true
				}
				if err := f.play(); err != nil {
					t.Fatalf("operation %d of %d fails (%v), -crash.seed %d: %v", n, total, f.cause,
						*crashSeed, err)
				}
			}
			t.Logf("trust: %d fault points", tried)
		})
	}
}

// fault is a workload on a disk where one operation fails.
type fault[S state[S]] struct {
	workload[S]
	at         int64 // the operation to fail; 0 for none
	short      bool  // a write is done by half
	cause      error
	operations atomic.Int64
	runner     *runner[S]
}

// play runs the workload and then recovers it on the healthy disk, with and without a crash.
func (f *fault[S]) play() error {
	disk := memfs.NewCrashable()
	f.runner = newRunner(f.workload, faultfs.New(disk, f.before), f.empty, dice(f.name))
	f.runner.tolerate = f.tolerate
	if err := f.runner.play(); err != nil && !errors.Is(err, errStop) {
		return err
	}
	c := &crasher[S]{workload: f.workload}
	if err := c.recover(f.runner.cut(disk, keepNone, nil), nil); err != nil {
		return fmt.Errorf("after a crash: %w", err)
	}
	if err := c.recover(f.runner.cut(disk, keepAll, nil), dice(f.name+" again")); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	return nil
}

// before fails an operation if it is its turn.
func (f *fault[S]) before(op faultfs.Op) error {
	switch n := f.operations.Add(1); {
	case f.at == 0 || n != f.at:
		return nil
	case op.Kind == faultfs.WriteAt && f.short:
		return &faultfs.ShortWrite{Bytes: op.Bytes / 2, Err: f.cause}
	}
	return f.cause
}

// tolerate wants an error to be one that the user can recognise, and the layer to be in a state
// that is allowed; if the database takes writes still, the workload goes on from there.
func (f *fault[S]) tolerate(err error) error {
	if !errors.Is(err, stoat.ErrPoisoned) && (f.at == 0 || !errors.Is(err, f.cause)) {
		return fmt.Errorf("an error of no known kind: %w", err)
	}
	if f.runner.db == nil {
		return errStop
	}
	acked, synced, begun := f.runner.line.marks()
	oldest := acked
	if errors.Is(err, stoat.ErrPoisoned) {
		oldest = synced
	}
	found, findErr := f.find(f.runner.db, f.runner.line.until(begun)[oldest:])
	switch {
	case errors.Is(err, stoat.ErrPoisoned) && errors.Is(findErr, stoat.ErrPoisoned):
		return errStop // reading has wanted to bring something up to date
	case findErr != nil:
		return fmt.Errorf("after the error %w: of the states %d to %d: %w", err, oldest, begun,
			findErr)
	case errors.Is(err, stoat.ErrPoisoned):
		return errStop
	}
	f.runner.line.settle(oldest + found)
	return nil
}
