package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/merge"
)

// compactGarbage of a value file, as a divisor, is reason enough for Compact to write it anew.
const compactGarbage = 20

// Compact writes everything committed so far into one run with all values in the order of their
// keys, and leaves as little on the disk as it can. It takes the place of the background merges
// meanwhile. When ctx ends, it stops soon; what it has done by then stays done.
func (e *Engine) Compact(ctx context.Context) error {
	if err := e.Flush(); err != nil {
		return err
	}
	if err := e.takeMerging(ctx); err != nil {
		return err
	}
	defer e.giveMerging()
	if v := e.state.Load().Levels.Version; len(v.Young) > 0 { // what is flushed from now on can wait
		if err := e.compactOne(ctx, intoBottom("compact", v)); err != nil {
			return err
		}
	}
	done := make(map[uint64]bool) // tables whose values were put in order here
	for ctx.Err() == nil {
		before := e.state.Load().Levels.Version
		next, ok := e.compaction(before, done)
		if !ok {
			return nil
		}
		if err := e.compactOne(ctx, next); err != nil {
			return err
		}
		if len(next.relocate) > 0 {
			addNew(done, before, e.state.Load().Levels.Version)
		}
	}
	return ctx.Err()
}

// compactOne does one step of Compact, unless ctx ends first.
func (e *Engine) compactOne(ctx context.Context, next plan) error {
	err := e.mergeOne(next, func() bool { return ctx.Err() != nil || e.closed.Load() })
	if errors.Is(err, merge.ErrCancelled) || err == nil {
		return cmp.Or(ctx.Err(), e.writable())
	}
	return err
}

// addNew adds the bottom tables of after that before has not.
func addNew(tables map[uint64]bool, before, after *manifest.Version) {
	old := numbersOf(before)
	for _, t := range after.Bottom.Tables {
		if !old[t.Number] {
			tables[t.Number] = true
		}
	}
}

// compaction returns the next step: what is garbage, then the values of some neighbouring tables.
func (e *Engine) compaction(v *manifest.Version, done map[uint64]bool) (plan, bool) {
	p := e.picker(e.options.Tuning.YoungRuns, true)
	p.damaged = nil // whoever compacts is to know of it
	for _, choose := range []func(*manifest.Version) (plan, bool){p.covered, p.dropped, p.stale} {
		if next, ok := choose(v); ok {
			return next, true
		}
	}
	next := inOrder(v, func(f manifest.ValueFile) bool {
		return f.Log || garbageOf(f) > f.Size/compactGarbage
	}, func(t *manifest.Table) bool { return done[t.Number] })
	next.why = "compact"
	return next, len(next.bottom) > 0
}

// takeMerging returns when no merge runs, and keeps others from starting. If ctx ends before, it
// returns why, and others go on.
func (e *Engine) takeMerging(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.moved.Broadcast()
	})
	defer stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.merging && ctx.Err() == nil {
		if err := e.writable(); err != nil {
			return err
		}
		e.yield.Store(true)
		poke(e.due) // whoever waits for a pause in the commits, or to try again, need not
		e.moved.Wait()
	}
	e.yield.Store(false)
	if err := ctx.Err(); err != nil {
		e.startJobsLocked() // the merge that was told to stop may have stopped
		e.moved.Broadcast() // another Compact that waits says again that it does
		return err
	}
	if e.closed.Load() {
		return ErrClosed
	}
	e.merging = true
	e.jobs.Add(1) // Close waits
	return nil
}

// giveMerging lets others merge again.
func (e *Engine) giveMerging() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.merging = false
	e.startJobsLocked()
	e.moved.Broadcast()
	e.jobs.Done()
}
