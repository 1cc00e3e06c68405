package engine

import (
	"context"
	"fmt"
	"runtime/trace"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/superversion"
)

// compact runs a compaction. If it is cancelled, what it has done by then stays done only if saves
// is set, as far as that is possible.
func (e *Engine) compact(p pick.Plan, saves bool, cancelled func() bool) error {
	ctx := context.Background()
	defer trace.StartRegion(ctx, "stoat.compaction").End()
	if trace.IsEnabled() {
		trace.Logf(ctx, e.dir, "%s: %d young runs, %d tables of the bottom run, %d files to reclaim",
			p.Why, p.Young.Count, len(p.Bottom), len(p.Relocate))
	}
	start := time.Now()
	var kept compaction.Kept
	levels := e.state.Load().Levels
	job := e.compactionJob(p, levels, cancelled)
	job.Kept, job.Saves = &kept, saves
	shown := &running{Job: Job{
		Why: p.Why, Tables: p.Reads(levels.Version), ToBottom: p.ToBottom,
		Bytes: p.Bytes(levels.Version),
	}}
	job.Output.FS = meter{job.Output.FS, &shown.written}
	e.began(shown)
	defer e.ended(shown)
	edit, err := job.Do()
	if err != nil {
		return fmt.Errorf("compaction: %w", err)
	}
	count := func(*superversion.Superversion) {
		e.endedLocked(shown)
		e.compactions.Add(1) // before those that wait for it go on
	}
	if err := e.install(edit, count); err != nil {
		return fmt.Errorf("compaction: %w", err)
	}
	e.options.Logger.Info("compacted", "dir", e.dir, "why", p.Why, "young", p.Young.Count,
		"bottom", len(p.Bottom), "moved", kept.Tables, "copied", kept.Blocks,
		"took", time.Since(start))
	return nil
}

func (e *Engine) compactionJob(
	p pick.Plan, levels *superversion.Levels, cancelled func() bool,
) compaction.Job {
	job := compaction.Job{
		Levels: levels, Young: p.Young, Bottom: p.Bottom, ToBottom: p.ToBottom, End: p.End,
		Now: e.now(), Output: e.output(&e.compactedBytes), Cancelled: cancelled, Tight: p.Tight,
	}
	out := &job.Output
	out.Filter = !p.ToBottom
	out.Compress = p.ToBottom || p.OnlyTable > 0 || e.options.Compression == CompressionZstd
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
		out.Values.MostBytes = p.MostValues
	}
	if p.Unread {
		return job // the tables go as they are
	}
	end := len(levels.Young) - p.Young.Older
	job.Inputs = slices.Clone(levels.Young[end-p.Young.Count : end])
	if front, ok := levels.Version.Front(); ok && p.Front {
		job.Inputs, job.Done = job.Inputs[1:], front.Done
	}
	if p.OnlyTable > 0 {
		shrinkJob(&job, job.Inputs[0], p.OnlyTable)
	}
	if p.ToBottom {
		addBottom(&job, p.Bottom)
	}
	e.completeOutput(out, job.Inputs)
	return job
}

// addBottom makes tables of the bottom run, by number, inputs of a job. The job cuts its output
// where the other tables begin.
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
