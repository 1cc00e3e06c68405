package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/pick"
)

const (
	// maxWaits, times Tuning.IdleAfter, is how long a compaction that tidies up waits for a pause
	// in the commits. Under a steady trickle of commits no pause is long enough.
	maxWaits = 100

	// longestQuiet, times Tuning.IdleAfter, is the longest pause that it waits for, after commits
	// have ended it a few times.
	longestQuiet = 16

	// minLasting is the size from which a compaction that tidies up continues when commits come in
	// again, because stopping would waste too much.
	minLasting = 64 << 20

	// gentleEvery is at which questions whether it is cancelled a gentle compaction looks for new
	// commits. If it looked each time, every commit would waste what it has done.
	gentleEvery = 64

	// retryDamaged is how long a damaged file is left alone: the next compaction is likely to meet
	// the same damage.
	retryDamaged = 5 * time.Minute
)

// picker returns a picker for the limits, the time and the damage that apply now.
func (e *Engine) picker() pick.Picker {
	p := pick.Picker{
		Limits: pick.Limits{
			YoungRuns:  e.options.Tuning.YoungRuns,
			Garbage:    uint64(e.options.Tuning.Garbage),
			SmallTable: compaction.Small(e.options.Tuning.TableBytes),
			Compressed: e.options.Compression != CompressionNone,
			Deferred:   deferredAtOnce * uint64(e.options.Tuning.DeferredBytes),
			YoungBytes: uint64(e.options.Tuning.YoungBytes),
			PartBytes:  uint64(e.options.Tuning.PartBytes),
			ValueBytes: uint64(e.options.Tuning.ValueBytes),
		},
		Now: e.now(),
	}
	if d := e.damaged.Load(); d != nil {
		p.Damaged = *d
	}
	return p
}

// compactor is the state of the goroutine that compacts.
type compactor struct {
	*Engine
	waits  time.Time     // since when a compaction that tidies up waits; zero if none does
	quiet  time.Duration // the pause that it waits for, twice as long after each one it gave way to
	seen   uint64        // the newest commit when the last compaction began
	shrunk bool          // the last compaction compressed deferred values, and there may be more
	begun  string        // why the last compaction was picked, if it has come to its end
	pause  time.Duration // after the next failure
}

// compactLoop compacts until it finds nothing to do. Compactions that only tidy up wait for a pause
// in the commits.
func (e *Engine) compactLoop() {
	c := compactor{Engine: e, quiet: e.options.Tuning.IdleAfter, pause: retryMin}
	for {
		next, ok := c.next()
		if !ok {
			c.renewManifestAtRest()
			return
		}
		gentle, due := c.waitForPause(next)
		if !due {
			continue // something else may be more urgent by now
		}
		if !c.hasRoom(next) {
			c.sleep(roomEvery, c.due)
			continue
		}
		c.seen = c.commits.Newest()
		asked := 0
		err := c.compact(next, !gentle, func() bool {
			asked++
			return c.closed.Load() || c.yield.Load() ||
				gentle && asked%gentleEvery == 0 && c.commits.Newest() != c.seen
		})
		c.ended(next, err)
	}
}

// next returns what to compact next. If there is nothing, or the goroutine has to stop, it reports
// false, and the goroutine no longer counts as running.
func (c *compactor) next() (next pick.Plan, ok bool) {
	for {
		c.lookAgain.Store(false)
		picker, version := c.picker(), c.state.Load().Levels.Version
		picker.Begun = c.begun
		if next, ok = picker.Next(version); ok && !c.stops() {
			return next, true
		}
		if c.end(picker.Again(version)) {
			return pick.Plan{}, false
		}
	}
}

// stops reports whether the goroutine has to stop even if there is something to compact.
func (c *compactor) stops() bool {
	return c.closed.Load() || c.poisoned.Load() != nil || c.yield.Load()
}

// end marks the goroutine as ended, and has it started again at the time again. It reports false if
// something may have come up meanwhile.
func (c *compactor) end(again uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lookAgain.Load() && !c.stops() {
		return false
	}
	c.mu.compacting = false
	c.mu.moved.Broadcast()
	c.wakeLocked(again)
	return true
}

// waitForPause waits for a pause in the commits if next only tidies up. It reports whether next is
// due, and whether it is gentle, that is, stops when commits come in again. After a long wait it is
// due in any case, and not gentle.
func (c *compactor) waitForPause(next pick.Plan) (gentle, due bool) {
	if !next.Idle || c.shrunk && next.OnlyTable > 0 && c.commits.Newest() == c.seen {
		return false, true
	}
	if c.waits.IsZero() {
		c.waits = time.Now()
	}
	idle := c.options.Tuning.IdleAfter
	overdue := func() bool { return time.Since(c.waits) >= maxWaits*idle }
	if overdue() {
		return false, true
	}
	before := c.commits.Newest()
	busy := c.isWriting(before)
	quiet := c.quiet == idle && c.rest.isPause() ||
		c.sleep(c.quiet, c.due) && c.commits.Newest() == before && !busy && !c.isWriting(before)
	if overdue() {
		return false, true
	}
	if quiet {
		c.rest.notePause(before)
		if c.flushFirst() {
			return false, false
		}
	}
	small := next.Bytes(c.state.Load().Levels.Version) < minLasting && len(next.Relocate) == 0 &&
		next.OnlyTable == 0
	return small, quiet
}

// flushFirst flushes what is left in memory at the beginning of a pause, so that a compaction that
// tidies up takes it along instead of writing the same tables twice. It reports whether there was
// anything.
func (c *compactor) flushFirst() bool {
	if c.rest.large() && c.rest.rested() {
		c.rest.flush()
	}
	c.mu.Lock()
	flushing := len(c.mu.sealed) > 0
	c.mu.Unlock()
	return flushing && c.waitFlushed(context.Background()) == nil
}

// ended decides how to go on after a compaction. After a failure it pauses.
func (c *compactor) ended(done pick.Plan, err error) {
	c.shrunk, c.begun = err == nil && done.OnlyTable > 0, ""
	switch {
	case err == nil:
		c.begun = done.Why
		if !c.shrunk {
			c.waits = time.Time{}
		}
		c.pause, c.quiet = retryMin, c.options.Tuning.IdleAfter
		return
	case errors.Is(err, compaction.ErrCancelled):
		c.pause = retryMin
		c.quiet = min(2*c.quiet, longestQuiet*c.options.Tuning.IdleAfter)
		return
	}
	c.jobFailed(err)
	switch {
	case c.setAside(err, done):
		c.options.Logger.Warn("compaction met damage", "dir", c.dir, "again after", retryDamaged,
			"err", err)
		c.pause = retryMin
		return
	case errors.Is(err, corrupt.Err):
		c.pause = retryDamaged
	}
	c.options.Logger.Warn("compaction will be tried again", "dir", c.dir, "after", c.pause,
		"err", err)
	c.rest.forgetPause()
	c.pauseFor(c.pause)
	c.pause = min(2*c.pause, max(c.pause, retryMax))
}

// pauseFor returns after d, or when Compact waits or the engine closes. A compaction that becomes
// due does not end the pause: otherwise one that keeps failing would be tried at every flush.
func (c *compactor) pauseFor(d time.Duration) {
	for end := time.Now().Add(d); !c.sleep(time.Until(end), c.due); {
		if c.yield.Load() || c.closed.Load() {
			return
		}
	}
}

// setAside notes the file in which a compaction met damage. It reports whether the same compaction
// is not picked again at once. Only the goroutine that compacts calls it.
func (e *Engine) setAside(err error, failed pick.Plan) bool {
	var damage *corrupt.Error
	if !errors.As(err, &damage) {
		return false
	}
	kind, number := folder.Parse(filepath.Base(damage.File))
	if !kind.HoldsData() {
		return false
	}
	picker, version := e.picker(), e.state.Load().Levels.Version
	due := picker.Now + uint64(retryDamaged.Milliseconds())
	picker.Damaged = picker.Damaged.With(number, picker.Now, due)
	e.damaged.Store(&picker.Damaged)
	if _, ok := version.ValueFile(number); ok && !slices.Contains(failed.Relocate, number) {
		return true // what was deferred in it is left alone from now on
	}
	return picker.Avoids(failed, version)
}
