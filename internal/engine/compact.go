package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/pick"
)

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
	steps := pick.NewFull(e.picker())
	for ctx.Err() == nil {
		next, ok := steps.Next(e.state.Load().Levels.Version)
		if !ok {
			return nil
		}
		err := e.compact(next, func() bool { return ctx.Err() != nil || e.closed.Load() })
		if err != nil && !errors.Is(err, compaction.ErrCancelled) {
			return err
		}
		if err := cmp.Or(ctx.Err(), e.writable()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// takeCompacting returns when no compaction runs, and keeps others from starting. If ctx ends
// before, it returns why, and others go on.
func (e *Engine) takeCompacting(ctx context.Context) error {
	err := e.waitCompacting(ctx)
	if ctx.Err() != nil {
		e.startJobs() // the compaction that was told to stop may have stopped
	}
	return err
}

// waitCompacting is takeCompacting, which may leave the others stopped if ctx ends.
func (e *Engine) waitCompacting(ctx context.Context) error {
	defer context.AfterFunc(ctx, e.wakeAll)()
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

// releaseCompacting lets others compact again.
func (e *Engine) releaseCompacting() {
	e.mu.Lock()
	e.mu.compacting = false
	e.mu.moved.Broadcast()
	e.mu.Unlock()
	e.startJobs()
	e.jobs.Done()
}
