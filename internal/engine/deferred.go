package engine

import (
	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
)

const (
	// deferredAtOnce, times Tuning.DeferredBytes, is what may be read to compress all deferred
	// values in one compaction, which gives them the form in which they stay. By default, that
	// takes a core a quarter of a second.
	deferredAtOnce = 8
	// deferredMost, times Tuning.DeferredBytes, is how much Close may leave: if more is deferred
	// already, it compresses. This bounds what sessions leave that are too short for compactions.
	deferredMost = 32
)

// behind reports whether another memtable, or a writer, waits for the flush that asks. Then the
// flush leaves large values in the log, unless its run is likely to stay as it is, because such a
// run is written only once.
func (e *Engine) behind(stays bool) bool {
	if stays {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.mu.sealed) > 1 || e.mu.roomless > 0
}

// completeOutput sets how a compaction writes the values of its inputs. None are compressed if the
// options say so; otherwise all are in the bottom run, and in a young run if most already were.
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
// these tables point to, or nil if none may be.
func (e *Engine) recheck(tables []superversion.Run) func(file uint64) bool {
	files, damaged := make(map[uint64]bool), e.picker().Damaged
	for _, r := range tables {
		for _, h := range r.Tables {
			if h.Meta.Compressed {
				continue
			}
			for _, share := range h.Meta.Values {
				if !damaged.Has(share.File) {
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

// shrinkJob completes the job of a plan that rewrites a table with deferred values. The rest of its
// run stays as it is.
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
