package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/superversion"
)

const (
	// maxWaits, times Tuning.IdleAfter, is how long a compaction that tidies up waits for a pause
	// in the commits, or for one that is long enough. Where commits trickle in all the time, no
	// pause comes.
	maxWaits = 50

	// minLasting is the size from which a compaction that tidies up goes on when commits come in
	// again: to stop would waste too much.
	minLasting = 64 << 20

	// retryDamaged is when a compaction that met damage is tried again: it is likely to meet it
	// again.
	retryDamaged = 5 * time.Minute
)

// picker returns what picks compactions now.
func (e *Engine) picker() pick.Picker {
	p := pick.Picker{
		Limits: pick.Limits{
			YoungRuns:  e.options.Tuning.YoungRuns,
			Garbage:    uint64(e.options.Tuning.Garbage),
			SmallTable: compaction.Small(e.options.Tuning.TableBytes),
			Compressed: e.options.Compression != CompressionNone,
		},
		Now: e.now(),
	}
	if d := e.damaged.Load(); d != nil {
		p.Damaged = *d
	}
	return p
}

// compactor is the state of the goroutine that compacts, which ends when there is nothing to do.
type compactor struct {
	*Engine
	waits  time.Time     // since when a compaction that tidies up is to be done; zero if none is
	seen   uint64        // the newest commit when the last compaction began
	shrunk bool          // the last compaction compressed deferred values, and there may be more
	pause  time.Duration // after the next failure
}

// compactLoop compacts while there is a reason to. Compactions that only tidy up wait for a pause
// in the commits.
func (e *Engine) compactLoop() {
	c := compactor{Engine: e, pause: retryMin}
	for {
		next, ok := c.next()
		if !ok {
			return
		}
		gentle, due := c.waitForPause(next)
		if !due {
			continue // something else may be more urgent by now
		}
		c.seen = c.commits.Newest()
		err := c.compact(next, func() bool {
			return c.closed.Load() || c.yield.Load() || gentle && c.commits.Newest() != c.seen
		})
		c.ended(next, err)
	}
}

// next returns what to compact next. If there is nothing, or it has to stop, the goroutine that
// compacts has ended.
func (c *compactor) next() (next pick.Plan, ok bool) {
	for {
		c.lookAgain.Store(false)
		picker, version := c.picker(), c.state.Load().Levels.Version
		if next, ok = picker.Next(version); ok && !c.stops() {
			return next, true
		}
		if c.end(picker.Again(version)) {
			return pick.Plan{}, false
		}
	}
}

// stops reports whether the goroutine has to end although there may be something to compact.
func (c *compactor) stops() bool {
	return c.closed.Load() || c.poisoned.Load() != nil || c.yield.Load()
}

// end notes that the goroutine has ended, and that it may find something to do from again on. It
// reports false if there may be something by now.
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

// waitForPause waits for a pause in the commits if all that next does is to tidy up. It reports
// whether next is due, and whether it is to stop when commits come in again. Once it has waited for
// long, it is due in any case and does not stop.
func (c *compactor) waitForPause(next pick.Plan) (gentle, due bool) {
	if !next.Idle || c.shrunk && next.Deferred > 0 && c.commits.Newest() == c.seen {
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
	quiet := c.sleep(idle, c.due) && c.commits.Newest() == before
	if overdue() {
		return false, true
	}
	small := next.Bytes(c.state.Load().Levels.Version) < minLasting && len(next.Relocate) == 0 &&
		next.Deferred == 0
	return small, quiet
}

// ended draws the conclusions from how a compaction went. After a failure it pauses.
func (c *compactor) ended(done pick.Plan, err error) {
	c.shrunk = err == nil && done.Deferred > 0
	switch {
	case err == nil:
		if !c.shrunk {
			c.waits = time.Time{}
		}
		c.pause = retryMin
		return
	case errors.Is(err, compaction.ErrCancelled):
		c.pause = retryMin
		return
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
	c.pauseFor(c.pause)
	c.pause = min(2*c.pause, max(c.pause, retryMax))
}

// pauseFor returns after d, or when Compact waits or the engine closes. A compaction that becomes
// due does not end it, or one that keeps failing would be tried at every flush.
func (c *compactor) pauseFor(d time.Duration) {
	for end := time.Now().Add(d); !c.sleep(time.Until(end), c.due); {
		if c.yield.Load() || c.closed.Load() {
			return
		}
	}
}

// setAside notes the file in which a compaction has met damage, and reports whether that keeps the
// same compaction from being picked at once. Only the goroutine that compacts calls it.
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

// compact does what was picked.
func (e *Engine) compact(p pick.Plan, cancelled func() bool) error {
	start := time.Now()
	var kept compaction.Kept
	job := e.compactionJob(p, e.state.Load().Levels, cancelled)
	job.Kept = &kept
	edit, err := job.Do()
	if err != nil {
		return fmt.Errorf("compaction: %w", err)
	}
	// It counts before anybody who waits for it goes on.
	count := func(*superversion.Superversion) { e.compactions.Add(1) }
	if err := e.install(edit, count); err != nil {
		return fmt.Errorf("compaction: %w", err)
	}
	e.options.Logger.Info("compacted", "dir", e.dir, "why", p.Why, "young", p.Young.Count,
		"bottom", len(p.Bottom), "moved", kept.Tables, "copied", kept.Blocks,
		"took", time.Since(start))
	return nil
}

// compactionJob returns the job that does what was picked of levels.
func (e *Engine) compactionJob(
	p pick.Plan, levels *superversion.Levels, cancelled func() bool,
) compaction.Job {
	job := compaction.Job{
		Levels: levels, Young: p.Young, Bottom: p.Bottom, ToBottom: p.ToBottom, Now: e.now(),
		Output: e.output(&e.compactedBytes), Cancelled: cancelled, Tight: p.Tight,
	}
	out := &job.Output
	out.Filter = !p.ToBottom
	out.Compress = p.ToBottom || p.Deferred > 0 || e.options.Compression == CompressionZstd
	out.Dictionaries = levels.Dictionaries()
	out.DropEpoch = levels.Version.DropEpoch
	if len(levels.Version.Dropped) > 0 {
		out.Dropped = levels.Version.IsDropped
	}
	if len(p.Relocate) > 0 {
		out.Values.Relocate = func(file uint64) bool {
			_, found := slices.BinarySearch(p.Relocate, file)
			return found
		}
	}
	if p.Unread {
		return job // the tables go as they are
	}
	end := len(levels.Young) - p.Young.Older
	job.Inputs = slices.Clone(levels.Young[end-p.Young.Count : end])
	if p.Deferred > 0 {
		shrinkJob(&job, job.Inputs[0], p.Deferred)
	}
	if p.ToBottom {
		addBottom(&job, p.Bottom)
	}
	e.completeOutput(out, job.Inputs)
	return job
}

// addBottom makes tables of the bottom run, by number, inputs of a job, which cuts its output where
// the others begin.
func addBottom(job *compaction.Job, numbers []uint64) {
	chosen := make(map[uint64]bool, len(numbers))
	for _, number := range numbers {
		chosen[number] = true
	}
	in := func(t *manifest.Table) bool { return chosen[t.Number] }
	job.Inputs = append(job.Inputs, job.Levels.Bottom.Only(in))
	for _, t := range job.Levels.Version.Bottom.Tables {
		if !in(t) {
			job.Output.Cuts = append(job.Output.Cuts, t.Smallest)
		}
	}
}
