package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/flush"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
)

// A failed flush or compaction is tried again after retryMin, then after twice as long each time,
// up to retryMax.
const (
	retryMin = 100 * time.Millisecond
	retryMax = 5 * time.Second
	// maxWaits, times Tuning.IdleAfter, is how long a compaction that tidies up waits for a pause
	// in the commits, or for one that is long enough. Where commits trickle in all the time, there
	// is none.
	maxWaits = 50

	// minLasting is the size from which a compaction that tidies up goes on when commits come in
	// again: to stop would waste too much.
	minLasting = 64 << 20
)

// startJobsLocked starts the goroutines that there is work for. Each ends when it finds no more.
func (e *Engine) startJobsLocked() {
	if e.closed.Load() || e.options.ReadOnly {
		return
	}
	if len(e.mu.sealed) > 0 && !e.mu.flushing {
		e.mu.flushing = true
		e.jobs.Go(e.flushLoop)
	}
	version, youngRuns := e.state.Load().Levels.Version, e.options.Tuning.YoungRuns
	if _, ok := e.picker(youngRuns, true).pick(version); ok && !e.mu.compacting {
		e.mu.compacting = true
		e.jobs.Go(e.compactLoop)
	} else if _, ok := e.picker(youngRuns, false).pick(version); ok {
		poke(e.due)
	}
	e.wakeLaterLocked(version)
}

// wakeLaterLocked makes sure that there is a look at what to compact when a table will be stale,
// and when what is damaged is to be tried again.
func (e *Engine) wakeLaterLocked(version *manifest.Version) {
	at, now := uint64(0), e.now()
	for t := range version.Tables() {
		if t.StaleAt > now && (at == 0 || t.StaleAt < at) {
			at = t.StaleAt
		}
	}
	for _, due := range e.damagedFiles() {
		if due > now && (at == 0 || due < at) {
			at = due
		}
	}
	if at == 0 || at == e.mu.wakeAt {
		return
	}
	if e.mu.wake != nil {
		e.mu.wake.Stop()
	}
	e.mu.wakeAt = at
	e.mu.wake = time.AfterFunc(time.Duration(at-now+1)*time.Millisecond, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.mu.wakeAt = 0
		e.startJobsLocked()
	})
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
		if len(e.mu.sealed) == 0 || e.poisoned.Load() != nil || e.closed.Load() {
			e.mu.flushing = false
			e.mu.moved.Broadcast()
			e.mu.Unlock()
			return
		}
		oldest := e.mu.sealed[0]
		e.mu.trying = true
		e.mu.Unlock()
		err := e.flushOne(oldest, false, e.behind)
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
	e.mu.stalled, e.mu.trying = err, false
	e.mu.attempts++
	e.mu.moved.Broadcast()
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
// its tables as they will stay until the database is opened again. For leave see [flush.Job].
func (e *Engine) flushOne(
	oldest sealed, final bool, leave func(stays bool, bytes uint64) bool,
) error {
	start := time.Now()
	job := e.flushJob(oldest, e.state.Load().Levels, final)
	job.Leave = leave
	edit, err := job.Run()
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	pop := func(next *superversion.Superversion) {
		// Copies, lest the memtable stay reachable through what is behind the slices.
		e.mu.sealed = slices.Clone(e.mu.sealed[1:])
		next.Sealed = slices.Clone(next.Sealed[:len(next.Sealed)-1])
		e.flushes.Add(1) // before anybody who waits for it goes on
	}
	if err := e.install(edit, pop); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	e.options.Logger.Info("flushed", "dir", e.dir, "entries", oldest.root.Len(),
		"took", time.Since(start))
	return nil
}

// flushJob returns the job that writes a memtable on top of levels.
func (e *Engine) flushJob(full sealed, levels *superversion.Levels, final bool) flush.Job {
	compression := e.options.Compression
	job := flush.Job{
		Root:           full.root,
		Levels:         levels,
		Output:         e.output(&e.flushed),
		CompressYoung:  compression == CompressionZstd || final && compression == CompressionAuto,
		CompressBottom: compression != CompressionNone,
		CompressLarge:  compression != CompressionNone,
		Reach:          e.options.Tuning.DeferredBytes,
		LastCommit:     full.lastCommit,
	}
	if full.log > 0 {
		job.LogNumber = full.log + 1
		job.Log = manifest.ValueFile{Number: full.log, Size: uint64(full.logBytes), Log: true}
	}
	return job
}

// output returns what all jobs' outputs have in common. The bytes that they write are added to
// count.
func (e *Engine) output(count *atomic.Uint64) run.Config {
	return run.Config{
		FS:         meter{e.folder, count},
		Dir:        e.dir,
		Database:   e.database,
		NextNumber: e.nextNumber,
		TableBytes: e.options.Tuning.TableBytes,
		BlockBytes: e.options.Tuning.BlockBytes,
		Sample:     e.options.Tuning.SampleBytes,
		Patterns:   e.options.Compression == CompressionAuto,
		Values: run.Values{
			Separate:  e.options.ValueThreshold,
			Shrink:    e.options.Compression != CompressionNone,
			FileBytes: e.options.Tuning.ValueBytes,
		},
	}
}

// compactLoop compactions while there is a reason to; once only tidiness is one, it waits for a
// pause in the commits.
func (e *Engine) compactLoop() {
	var waits time.Time // since when a compaction that tidies up is to be done; zero if none is
	var seen uint64     // the newest commit when the last compaction began
	goesOn := false     // the last compaction compressed deferred values, and there may be more
	for pause := retryMin; ; {
		next, idle, ok := e.nextCompaction()
		if !ok {
			return
		}
		gentle := false
		if idle && !(goesOn && next.deferred > 0 && e.committed.Load() == seen) {
			if waits.IsZero() {
				waits = time.Now()
			}
			var due bool
			if gentle, due = e.awaitPause(next, waits); !due {
				continue
			}
		}
		seen = e.committed.Load()
		err := e.runCompaction(next, func() bool {
			return e.closed.Load() || e.yield.Load() || gentle && e.committed.Load() != seen
		})
		if goesOn = err == nil && next.deferred > 0; err == nil && !goesOn {
			waits = time.Time{}
		}
		if err == nil || errors.Is(err, compaction.ErrCancelled) {
			pause = retryMin
			continue
		}
		if e.setAside(err, next) {
			e.options.Logger.Warn("compaction met damage", "dir", e.dir, "again after", retryDamaged,
				"err", err)
			pause = retryMin
			continue
		}
		if errors.Is(err, corrupt.Err) {
			pause = retryDamaged
		}
		e.options.Logger.Warn("compaction will be tried again", "dir", e.dir, "after", pause, "err", err)
		e.pauseCompacting(pause)
		pause = min(2*pause, max(pause, retryMax))
	}
}

// awaitPause waits for a pause in the commits, and reports whether a compaction that tidies up is
// due, and whether it is to stop when commits come in again. Waiting since long, it is due in any
// case, and does not stop.
func (e *Engine) awaitPause(next plan, since time.Time) (gentle, due bool) {
	overdue := func() bool { return time.Since(since) >= maxWaits*e.options.Tuning.IdleAfter }
	if overdue() {
		return false, true
	}
	seen := e.committed.Load()
	quiet := e.sleep(e.options.Tuning.IdleAfter, e.due) && e.committed.Load() == seen
	if overdue() {
		return false, true
	}
	small := next.bytes(e.state.Load().Levels.Version) < minLasting && len(next.relocate) == 0 &&
		next.deferred == 0
	return small, quiet
}

// pauseCompacting returns after d, or when Compact waits or the engine closes. That a compaction is
// due does not end it, or one that keeps failing would be tried at every flush.
func (e *Engine) pauseCompacting(d time.Duration) {
	for end := time.Now().Add(d); !e.sleep(time.Until(end), e.due); {
		if e.yield.Load() || e.closed.Load() {
			return
		}
	}
}

// nextCompaction returns what to compact next, and whether it can wait until nobody commits. If
// there is nothing, the compacting goroutine has ended.
func (e *Engine) nextCompaction() (next plan, idle, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	version, youngRuns := e.state.Load().Levels.Version, e.options.Tuning.YoungRuns
	if e.closed.Load() || e.poisoned.Load() != nil || e.yield.Load() {
		e.mu.compacting = false
		e.mu.moved.Broadcast()
		return plan{}, false, false
	}
	if next, ok = e.picker(youngRuns, false).pick(version); ok {
		return next, false, true
	}
	if next, ok = e.picker(youngRuns, true).pick(version); ok {
		return next, true, true
	}
	e.mu.compacting = false
	e.wakeLaterLocked(version)
	return plan{}, false, false
}

// picker returns what decides about compactions now.
func (e *Engine) picker(youngRuns int, idle bool) picker {
	return picker{
		youngRuns: youngRuns, idle: idle, garbage: uint64(e.options.Tuning.Garbage), now: e.now(),
		small: compaction.Small(e.options.Tuning.TableBytes), damaged: e.damagedFiles(),
		shrinks: e.options.Compression != CompressionNone,
	}
}

// runCompaction does what was picked.
func (e *Engine) runCompaction(p plan, cancelled func() bool) error {
	start := time.Now()
	var kept compaction.Kept
	job := e.compactionJob(p, e.state.Load().Levels, cancelled)
	job.Kept = &kept
	edit, err := job.Run()
	if err != nil {
		return fmt.Errorf("compaction: %w", err)
	}
	// It counts before anybody who waits for it goes on.
	count := func(*superversion.Superversion) { e.compactions.Add(1) }
	if err := e.install(edit, count); err != nil {
		return fmt.Errorf("compaction: %w", err)
	}
	e.options.Logger.Info("compacted", "dir", e.dir, "why", p.why, "young", p.young.Count,
		"bottom", len(p.bottom), "moved", kept.Tables, "copied", kept.Blocks,
		"took", time.Since(start))
	return nil
}

// compactionJob returns the job that does what was picked of levels.
func (e *Engine) compactionJob(
	p plan, levels *superversion.Levels, cancelled func() bool,
) compaction.Job {
	job := compaction.Job{
		Levels: levels, Young: p.young, Bottom: p.bottom, ToBottom: p.toBottom, Now: e.now(),
		Output: e.output(&e.compactedBytes), Cancelled: cancelled, Tight: p.tight,
	}
	out := &job.Output
	out.Filter = !p.toBottom
	out.Compress = p.toBottom || p.deferred > 0 || e.options.Compression == CompressionZstd
	out.Dictionaries = levels.Dictionaries()
	out.DropEpoch = levels.Version.DropEpoch
	if len(levels.Version.Dropped) > 0 {
		out.Dropped = levels.Version.IsDropped
	}
	if len(p.relocate) > 0 {
		out.Values.Relocate = func(file uint64) bool {
			_, found := slices.BinarySearch(p.relocate, file)
			return found
		}
	}
	if p.clear {
		return job // the tables go as they are
	}
	end := len(levels.Young) - p.young.Older
	job.Inputs = slices.Clone(levels.Young[end-p.young.Count : end])
	if p.deferred > 0 {
		shrinkJob(&job, job.Inputs[0], p.deferred)
	}
	if p.toBottom {
		in := make(map[uint64]bool, len(p.bottom))
		for _, number := range p.bottom {
			in[number] = true
		}
		job.Inputs = append(job.Inputs,
			levels.Bottom.Only(func(t *manifest.Table) bool { return in[t.Number] }))
		for _, t := range levels.Version.Bottom.Tables {
			if !in[t.Number] {
				out.Cuts = append(out.Cuts, t.Smallest)
			}
		}
	}
	e.completeOutput(out, job.Inputs)
	return job
}
