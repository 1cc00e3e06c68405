package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/pick"
)

// Compact writes everything committed so far into one run, with all values in the order of their
// keys, and frees as much of the disk as it can. Background compactions stop meanwhile. It stops
// soon after ctx ends; what it has done by then stays done.
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
		if err := e.awaitRoom(ctx, next); err != nil {
			return err
		}
		err := e.compact(next, true, func() bool { return ctx.Err() != nil || e.closed.Load() })
		if err != nil && !errors.Is(err, compaction.ErrCancelled) {
			return err
		}
		if err := cmp.Or(ctx.Err(), e.writable()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// takeCompacting stops background compactions and returns when none runs. If ctx ends before that,
// it returns the reason, and they go on.
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
		poke(e.due) // ends the wait for a pause in the commits, or for another try
		e.mu.moved.Wait()
	}
	e.yield.Store(false)
	if err := ctx.Err(); err != nil {
		e.mu.moved.Broadcast() // another Compact that waits sets yield again
		return err
	}
	if e.closed.Load() {
		return ErrClosed
	}
	e.mu.compacting = true
	e.jobs.Add(1) // Close waits
	return nil
}

// releaseCompacting lets background compactions start again.
func (e *Engine) releaseCompacting() {
	e.mu.Lock()
	e.mu.compacting = false
	e.mu.moved.Broadcast()
	e.mu.Unlock()
	e.startJobs()
	e.jobs.Done()
}
