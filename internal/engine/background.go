package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/flush"
	"github.com/stoatdb/stoat/internal/merge"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
)

// A failed flush or merge is tried again after retryMin, then after twice as long each time, up to
// retryMax.
const (
	retryMin = 100 * time.Millisecond
	retryMax = 5 * time.Second
)

// startJobsLocked starts the goroutines that there is work for. Each ends when it finds no more.
func (e *Engine) startJobsLocked() {
	if e.closed.Load() || e.options.ReadOnly {
		return
	}
	if len(e.sealed) > 0 && !e.flushing {
		e.flushing = true
		e.jobs.Go(e.flushLoop)
	}
	version, youngRuns := e.state.Load().Levels.Version, e.options.Tuning.YoungRuns
	if _, ok := pick(version, youngRuns, true); ok && !e.merging {
		e.merging = true
		e.jobs.Go(e.mergeLoop)
	} else if _, ok := pick(version, youngRuns, false); ok {
		poke(e.due)
	}
}

// poke puts an item into a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// flushLoop flushes sealed memtables, oldest first, until there are none.
func (e *Engine) flushLoop() {
	for pause := retryMin; ; {
		e.mu.Lock()
		if len(e.sealed) == 0 || e.poisoned.Load() != nil || e.closed.Load() {
			e.flushing = false
			e.moved.Broadcast()
			e.mu.Unlock()
			return
		}
		oldest := e.sealed[0]
		e.trying = true
		e.mu.Unlock()
		err := e.flushOne(oldest, false)
		e.tried(err)
		if err == nil {
			pause = retryMin
			continue
		}
		e.options.Logger.Warn("flush will be tried again", "dir", e.dir, "after", pause, "err", err)
		if e.sleep(pause, e.hurry) {
			pause = min(2*pause, retryMax)
		}
	}
}

// tried records how a flush went and wakes writers who wait for room.
func (e *Engine) tried(err error) {
	e.mu.Lock()
	e.stalled, e.trying = err, false
	e.attempts++
	e.moved.Broadcast()
	e.mu.Unlock()
}

// sleep returns true after d, and false at once when wake has an item or the engine closes.
func (e *Engine) sleep(d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-wake:
		return false
	case <-e.stop:
		return false
	}
}

// flushOne writes the oldest sealed memtable into tables and installs them. A final flush leaves
// its tables as they will stay until the database is opened again.
func (e *Engine) flushOne(oldest sealed, final bool) error {
	start := time.Now()
	compression := e.options.Compression
	job := flush.Job{
		Root:           oldest.root,
		Levels:         e.state.Load().Levels,
		Output:         e.output(),
		CompressYoung:  compression == CompressionZstd || final && compression == CompressionAuto,
		CompressBottom: compression != CompressionNone,
		LogNumber:      oldest.log + 1,
		LastCommit:     oldest.lastCommit,
	}
	edit, err := job.Run()
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	pop := func(next *superversion.Superversion) {
		e.sealed = e.sealed[1:]
		next.Sealed = next.Sealed[: len(next.Sealed)-1 : len(next.Sealed)-1]
	}
	if err := e.install(edit, pop); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	e.flushes.Add(1)
	e.options.Logger.Info("flushed", "dir", e.dir, "entries", oldest.root.Len(),
		"took", time.Since(start))
	return nil
}

// output returns what all jobs' outputs have in common.
func (e *Engine) output() run.Config {
	return run.Config{
		FS:         e.fs,
		Dir:        e.dir,
		Database:   e.database,
		NextNumber: e.nextNumber,
		TableBytes: e.options.Tuning.TableBytes,
		BlockBytes: e.options.Tuning.BlockBytes,
	}
}

// mergeLoop merges while there is a reason to; once only tidiness is one, it waits for a pause in
// the commits.
func (e *Engine) mergeLoop() {
	for pause := retryMin; ; {
		inputs, idle, ok := e.nextMerge()
		if !ok {
			return
		}
		seen := e.committed.Load()
		if idle && (!e.sleep(e.options.Tuning.IdleAfter, e.due) || e.committed.Load() != seen) {
			continue
		}
		err := e.mergeOne(inputs, func() bool {
			return e.closed.Load() || idle && e.committed.Load() != seen
		})
		if err == nil || errors.Is(err, merge.ErrCancelled) {
			pause = retryMin
			continue
		}
		e.options.Logger.Warn("merge will be tried again", "dir", e.dir, "after", pause, "err", err)
		e.sleep(pause, nil)
		pause = min(2*pause, retryMax)
	}
}

// nextMerge returns what to merge next, and whether it can wait until nobody commits. If there is
// nothing, the merging goroutine has ended.
func (e *Engine) nextMerge() (next inputs, idle, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	version, youngRuns := e.state.Load().Levels.Version, e.options.Tuning.YoungRuns
	if e.closed.Load() || e.poisoned.Load() != nil {
		e.merging = false
		return inputs{}, false, false
	}
	if next, ok = pick(version, youngRuns, false); ok {
		return next, false, true
	}
	if next, ok = pick(version, youngRuns, true); ok {
		return next, true, true
	}
	e.merging = false
	return inputs{}, false, false
}

// mergeOne merges the picked tables into the bottom run.
func (e *Engine) mergeOne(in inputs, cancelled func() bool) error {
	start := time.Now()
	levels := e.state.Load().Levels
	job := merge.Job{Output: e.output(), Cancelled: cancelled}
	job.Output.Compress = e.options.Compression != CompressionNone
	job.Output.DropEpoch = levels.Version.DropEpoch
	if len(levels.Version.Dropped) > 0 {
		job.Output.Dropped = levels.Version.IsDropped
	}
	job.Young = levels.Young[len(levels.Young)-in.young:]
	for _, t := range in.bottom {
		h, ok := levels.Handle(t.Number)
		if !ok {
			return fmt.Errorf("merge: table %06d is not there", t.Number)
		}
		job.Bottom = append(job.Bottom, h)
	}
	edit, err := job.Run()
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	if err := e.install(edit, func(*superversion.Superversion) {}); err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	e.merges.Add(1)
	e.options.Logger.Info("merged", "dir", e.dir, "young", in.young, "bottom", len(in.bottom),
		"took", time.Since(start))
	return nil
}
