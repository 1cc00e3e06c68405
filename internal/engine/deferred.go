package engine

import (
	"slices"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Deferred values are large ones that a flush has left in the log as they were, for want of time to
// compress them. The tables that point to them are in young runs and not compressed, and the file
// that they point into is a log segment; by that they are found, in this session or a later one.
// Values that do not shrink are taken for deferred ones if such a flush has left them there, too.

// behind reports whether a memtable, or a writer, waits for the flush of another, which is to leave
// large values in the log then. For a run that is likely to stay they wait: it is written once.
func (e *Engine) behind(stays bool, _ uint64) bool {
	if stays {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.mu.sealed) > 1 || e.mu.roomless > 0
}

// deferredIn returns how many bytes of values a table of a young run may point to that were
// deferred.
func deferredIn(v *manifest.Version, t *manifest.Table) (n uint64) {
	if t.Compressed {
		return 0
	}
	for _, share := range t.Values {
		if f, _ := v.ValueFile(share.File); f.Log {
			n += share.Bytes
		}
	}
	return n
}

// deferredBytes is deferredIn for all tables of young runs.
func deferredBytes(v *manifest.Version) (n uint64) {
	for _, r := range v.Young {
		for _, t := range r.Tables {
			n += deferredIn(v, t)
		}
	}
	return n
}

// deferred picks a young table with deferred values, the oldest first, to write it anew with what
// they are compressed. It stays where it is, so that no other table has to be read.
func (p picker) deferred(v *manifest.Version) (plan, bool) {
	if !p.shrinks {
		return plan{}, false
	}
	for i := len(v.Young) - 1; i >= 0; i-- {
		for _, t := range v.Young[i].Tables {
			if deferredIn(v, t) > 0 && !p.avoidsTable(t) &&
				!slices.ContainsFunc(t.Values, p.avoidsShare) {
				young := manifest.YoungRuns{Older: len(v.Young) - 1 - i, Count: 1}
				return plan{why: "deferred", young: young, deferred: t.Number}, true
			}
		}
	}
	return plan{}, false
}

func (p picker) avoidsShare(s manifest.ValueShare) bool { return p.damaged.has(s.File) }

// deferredBytes returns how many bytes of deferred values the plan is to compress.
func (p plan) deferredBytes(v *manifest.Version) uint64 {
	for t := range v.Tables() {
		if t.Number == p.deferred {
			return deferredIn(v, t)
		}
	}
	return 0
}

// completeOutput says how the values of a compaction's inputs are written: none are compressed if
// the options say so, else all in the bottom run, and in a young one if most are already.
func (e *Engine) completeOutput(out *run.Config, inputs []superversion.Run) {
	if e.options.Compression == CompressionNone {
		out.Compress = false
		return
	}
	if out.Compress = out.Compress || mostlyCompressed(inputs); out.Compress {
		out.Values.Recheck = e.recheck(inputs)
		return
	}
	out.Reach = e.options.Tuning.DeferredBytes
}

// mostlyCompressed reports whether half of the bytes of the tables or more are in compressed ones.
func mostlyCompressed(runs []superversion.Run) bool {
	var all, compressed uint64
	for _, r := range runs {
		for _, h := range r.Tables {
			all += h.Meta.Size
			if h.Meta.Compressed {
				compressed += h.Meta.Size
			}
		}
	}
	return compressed >= all-compressed
}

// recheck returns a function that reports whether the values in a file may be deferred ones that
// these tables point to, or nil if there are none.
func (e *Engine) recheck(tables []superversion.Run) func(file uint64) bool {
	files, damaged := make(map[uint64]bool), e.damagedFiles()
	for _, r := range tables {
		for _, h := range r.Tables {
			if h.Meta.Compressed {
				continue
			}
			for _, share := range h.Meta.Values {
				if !damaged.has(share.File) {
					files[share.File] = true
				}
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	return func(file uint64) bool { return files[file] }
}

// shrinkJob completes the job of a plan that writes a table with deferred values anew: the rest of
// its run stays as it is.
func shrinkJob(job *compaction.Job, of superversion.Run, number uint64) {
	in := func(t *manifest.Table) bool { return t.Number == number }
	job.Inputs = []superversion.Run{of.Only(in)}
	job.Stays.Deleted = of.Deleted
	for _, h := range of.Tables {
		if !in(h.Meta) {
			job.Stays.Tables = append(job.Stays.Tables, h.Meta)
		}
	}
}

// shrinkSome compresses deferred values of at most so many bytes while the database closes, so that
// sessions that are too short for compactions get on with it, too. A backup that nobody has written
// to stays as it is. It is no loss if that fails.
func (e *Engine) shrinkSome(most uint64) {
	for {
		version := e.state.Load().Levels.Version
		if version.IsBackup() {
			return
		}
		next, ok := e.picker(1, true).deferred(version)
		bytes := next.deferredBytes(version)
		if !ok || bytes > most {
			return
		}
		most -= bytes
		if err := e.runCompaction(next, func() bool { return false }); err != nil {
			e.options.Logger.Warn("compress values while closing", "dir", e.dir, "err", err)
			return
		}
	}
}
