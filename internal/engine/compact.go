package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/manifest"
)

// compactGarbage of a value file, as a divisor, is reason enough for Compact to write it anew.
const compactGarbage = 20

// Compact writes everything committed so far into one run with all values in the order of their
// keys, and leaves as little on the disk as it can. It takes the place of the background
// compactions meanwhile. When ctx ends, it stops soon; what it has done by then stays done.
func (e *Engine) Compact(ctx context.Context) error {
	if err := e.flush(ctx); err != nil {
		return err
	}
	if err := e.takeCompacting(ctx); err != nil {
		return err
	}
	defer e.releaseCompacting()
	if v := e.state.Load().Levels.Version; len(v.Young) > 0 { // what is flushed from now on can wait
		if err := e.compactStep(ctx, intoBottom("compact", v)); err != nil {
			return err
		}
	}
	done := compacted{ordered: make(map[uint64]bool), joined: make(map[uint64]bool)}
	for ctx.Err() == nil {
		before := e.state.Load().Levels.Version
		next, ok := e.compaction(before, done)
		if !ok {
			return nil
		}
		if err := e.compactStep(ctx, next); err != nil {
			return err
		}
		after := e.state.Load().Levels.Version
		if next.why == whyJoin {
			addNew(done.joined, before, after)
		}
		if next.why == whyJoin || len(next.relocate) > 0 {
			addNew(done.ordered, before, after)
		}
	}
	return ctx.Err()
}

// compacted is the numbers of bottom tables with which Compact is done: those whose values it has
// put in order, and those that it has made of small ones, which come after.
type compacted struct{ ordered, joined map[uint64]bool }

// whyJoin is the reason of a compaction that joins small tables.
const whyJoin = "join"

// compactStep does one step of Compact, unless ctx ends first.
func (e *Engine) compactStep(ctx context.Context, next plan) error {
	next.tight = true
	err := e.runCompaction(next, func() bool { return ctx.Err() != nil || e.closed.Load() })
	if errors.Is(err, compaction.ErrCancelled) || err == nil {
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

// compaction returns the next step: what is garbage, then the values of some neighbouring tables,
// then tables that are too small.
func (e *Engine) compaction(v *manifest.Version, done compacted) (plan, bool) {
	p := e.picker(e.options.Tuning.YoungRuns, true)
	p.damaged = nil // whoever compacts is to know of it
	for _, choose := range []func(*manifest.Version) (plan, bool){p.covered, p.dropped, p.stale} {
		if next, ok := choose(v); ok {
			return next, true
		}
	}
	next := inOrder(v, func(f manifest.ValueFile) bool {
		return f.Log || garbageOf(f) > f.Size/compactGarbage
	}, func(t *manifest.Table) bool { return done.ordered[t.Number] })
	if len(next.bottom) > 0 {
		next.why = "compact"
		return next, true
	}
	if all := p.stretches(v, func(number uint64) bool { return done.joined[number] }); len(all) > 0 {
		return joining(whyJoin, all[0]), true
	}
	return plan{}, false
}

// takeCompacting returns when no compaction runs, and keeps others from starting. If ctx ends
// before, it returns why, and others go on.
func (e *Engine) takeCompacting(ctx context.Context) error {
	defer context.AfterFunc(ctx, e.stir)()
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.mu.compacting && ctx.Err() == nil {
		if err := e.writable(); err != nil {
			return err
		}
		e.yield.Store(true)
		poke(e.due) // whoever waits for a pause in the commits, or to try again, need not
		e.mu.moved.Wait()
	}
	e.yield.Store(false)
	if err := ctx.Err(); err != nil {
		e.startJobsLocked()    // the compaction that was told to stop may have stopped
		e.mu.moved.Broadcast() // another Compact that waits says again that it does
		return err
	}
	if e.closed.Load() {
		return ErrClosed
	}
	e.mu.compacting = true
	e.jobs.Add(1) // Close waits
	return nil
}

// releaseCompacting lets others compaction again.
func (e *Engine) releaseCompacting() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.compacting = false
	e.startJobsLocked()
	e.mu.moved.Broadcast()
	e.jobs.Done()
}
