// Package compaction is the job that turns young runs into fewer tables: into part of the bottom
// run, or into one young run.
//
// A [Job] is a function from its inputs to a manifest edit. It creates files and changes no other
// state. The engine picks the inputs and installs the edit. A job first decides which input tables
// can stay as they are (kept.go), then merges the entries of the others into new tables
// ([superversion.Cursor] merges, package run writes), copying whole blocks where it can. If it is
// one part of a compaction, or is told to stop, it leaves a front (part.go).
package compaction

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// blockBytes is what a block that is copied as it is counts for in [run.Asker].
const blockBytes = 4 << 10

// ErrCancelled reports that the job was told to stop. It has removed its files.
var ErrCancelled = errors.New("compaction cancelled")

// Job is young runs, and perhaps tables of the bottom run, on their way to new tables.
type Job struct {
	Levels *superversion.Levels
	Inputs []superversion.Run // newest first; with ToBottom, the tables of the bottom run come last
	Young  manifest.YoungRuns // the young runs among the inputs
	Bottom []uint64           // the numbers of the bottom run's tables among the inputs
	Output run.Config         // the job sets Values.Read and Sampler

	// ToBottom says that the output goes to the bottom run, without filters. The inputs are then
	// the oldest young runs, or none, and every bottom table that their keys and deletions touch.
	ToBottom bool
	// Stays is the rest of the young run that the output replaces, if any: tables that are not
	// inputs, and deletions.
	Stays manifest.Run
	Now   uint64 // entries that have expired by then are dropped; in milliseconds since 1970

	// Done, if it has an end, is where earlier parts have read: the newest of the young runs is the
	// front that they have made of the others, and no input. End, if not nil, is where this part
	// ends: then the output goes to the front. Of the bottom tables that a whole job would have as
	// inputs, a part has those with a key below its end.
	Done keyspace.Span
	End  []byte

	// Tight says that the output is to be as small as possible: no table is kept that might shrink
	// if it was rewritten.
	Tight bool

	// Cancelled is called after each file, and now and then in between. Once it returns true, the
	// job ends with ErrCancelled. But if Saves is set, the tables that are complete by then make up
	// a part, if there are any and the job is of young runs into the bottom run.
	Cancelled func() bool
	Saves     bool

	Kept *Kept // if not nil, Do adds to it

	asker run.Asker
	moved []*manifest.Table // young tables that are kept
}

// Kept counts what compactions did not have to rewrite.
type Kept struct {
	Tables int // that became part of the bottom run, or stayed in it, as they are
	Blocks int // that were copied as they are
}

// Do writes the tables and returns the edit that replaces the inputs by them. Nothing is older than
// the bottom run, so tombstones and deleted ranges end there.
func (j Job) Do() (*manifest.Edit, error) {
	deleted := j.deleted()
	if j.Kept == nil {
		j.Kept = new(Kept)
	}
	if err := vfs.CatchFaults(j.keepTables); err != nil {
		return nil, err
	}
	j.asker.Cancelled = j.Cancelled
	var c superversion.EntryCursor
	j.Output.Values.Read = func() ([]byte, error) {
		value, err := c.Value()
		j.asker.Read(len(value))
		return value, err
	}
	j.Output.Sampler = j.sample
	w := run.NewWriter(j.Output)
	var output run.Output
	end := j.End
	err := vfs.CatchFaults(func() (err error) {
		if err = j.write(w, &c); err == nil {
			output, err = w.Finish() // which may sample values from all over the inputs
		} else if errors.Is(err, ErrCancelled) && j.savesPart() {
			output, end, err = save(w)
		}
		return err
	})
	var edit *manifest.Edit
	if err == nil {
		edit, err = j.edit(output, deleted, end)
	}
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	edit.AddValues, edit.AddDictionaries = output.Values, output.Dictionaries
	return edit, nil
}

// edit returns the edit that replaces the inputs, or what they have below end if that is not nil.
func (j *Job) edit(
	output run.Output, deleted keyspace.Spans, end []byte,
) (*manifest.Edit, error) {
	edit := &manifest.Edit{RemoveYoung: j.Young}
	switch {
	case j.Done.End != nil || end != nil:
		return edit, j.editPart(edit, output.Tables, end)
	case j.ToBottom:
		edit.Remove, edit.AddBottom = j.Bottom, slices.Concat(j.moved, output.Tables)
	default:
		edit.Remove = j.Bottom
		if young := j.youngRun(output.Tables, deleted); len(young.Tables)+len(young.Deleted) > 0 {
			edit.AddYoung = []manifest.Run{young}
		}
	}
	return edit, nil
}

// deleted returns the ranges that the inputs delete from older runs.
func (j *Job) deleted() (deleted keyspace.Spans) {
	for _, input := range j.Inputs {
		deleted = deleted.With(input.Deleted...)
	}
	return deleted
}

// youngRun returns the young run that the output and what stays make up.
func (j *Job) youngRun(tables []*manifest.Table, deleted keyspace.Spans) manifest.Run {
	tables = slices.Concat(tables, j.Stays.Tables)
	manifest.SortTables(tables)
	return manifest.Run{
		Tables: tables, Deleted: manifest.Unmarked(deleted.With(j.Stays.Deleted...)),
	}
}

// write merges the inputs into w.
func (j *Job) write(w *run.Writer, c *superversion.EntryCursor) error {
	c.Init(j.Levels, j.Inputs)
	files := w.Files() // when it was last asked whether the job is cancelled
	for ok := c.First(); ok && (j.End == nil || bytes.Compare(c.Key(), j.End) < 0); {
		copied, err := j.copyBlock(w, c)
		if err == nil && !copied {
			err = j.copyEntry(w, c)
		}
		if err != nil {
			return err
		}
		if j.asker.Stops() || w.Files() > files && j.asker.StopsNow() {
			return ErrCancelled
		}
		files = w.Files()
		if copied {
			ok = c.SkipBlock()
		} else {
			ok = c.Next()
		}
	}
	return c.Err()
}

// copyBlock writes the cursor's block as it is, if the cursor is at its start, all of its entries
// are to be written, and it is compressed as the output is to be.
func (j *Job) copyBlock(w *run.Writer, c *superversion.EntryCursor) (copied bool, err error) {
	t := c.Whole()
	if t == nil || t.Compressed != j.Output.Compress {
		return false, nil
	}
	b, err := c.Block()
	if err != nil {
		return false, err
	}
	if copied, err = w.AddBlock(b); copied {
		j.Kept.Blocks++
		j.asker.Read(blockBytes)
	}
	return copied, err
}

// copyEntry writes the cursor's entry. One that has expired becomes a tombstone, because it hides
// older entries; in the bottom run there are none to hide.
func (j *Job) copyEntry(w *run.Writer, c *superversion.EntryCursor) error {
	e, err := c.Entry()
	if err != nil {
		return err
	}
	j.asker.ReadEntry(e.Size())
	if e.Until != 0 && e.Until <= j.Now {
		e = keyspace.Entry{Kind: keyspace.KindDelete}
	}
	if e.Kind == keyspace.KindDelete && j.ToBottom {
		return nil
	}
	return w.Add(c.Key(), e)
}

// sample is the [run.Sampler] of the inputs' entries that are not dropped.
func (j *Job) sample(bucket uint64, bytes int) iter.Seq[keyspace.Entry] {
	return j.Levels.Sample(j.Inputs, superversion.Sample{
		Bucket: bucket, Places: run.SamplePoints, Bytes: bytes / run.SamplePoints, Now: j.Now,
		EntryBytes: run.EntryBytes, Fetch: j.Output.Values.Recheck,
	})
}
