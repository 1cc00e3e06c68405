// Package compaction is the job that turns young runs into fewer: into the bottom run, or into one
// young run.
//
// A [Job] is a function from its inputs to a manifest edit; it creates files and changes no other
// state. The engine picks the inputs and installs the edit.
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

// askEvery is how many entries are read until the job asks whether it is cancelled, besides at the
// end of each file: a compaction may leave out all that it reads and never complete one.
const askEvery = 64 << 10

// ErrCancelled reports that the job was told to stop; it has removed its files.
var ErrCancelled = errors.New("compaction cancelled")

// Job is young runs, and perhaps tables of the bottom run, on their way to new tables.
type Job struct {
	Levels *superversion.Levels
	Inputs []superversion.Run // newest first; with ToBottom the tables of the bottom run come last
	Young  manifest.YoungRuns // which of the young runs the inputs are
	Bottom []uint64           // the numbers of the inputs' bottom tables
	Output run.Config         // Values.Read and Spread are the job's to set

	// ToBottom says that the output belongs to the bottom run. Then the inputs are the oldest young
	// runs, or none, and every bottom table that their keys and deletions touch, and the output has
	// no filter.
	ToBottom bool
	// Stays is what else the output, if it is a young run, has of the one that it replaces: tables
	// that are no inputs, and deletions.
	Stays manifest.Run
	Now   uint64 // what has expired by then is not written; in milliseconds since 1970

	// Tight says that the output is to be as small as it can be: no table is moved into the bottom
	// run, or left in it, that might be smaller if it was written anew.
	Tight bool

	// Cancelled is asked after each file, and every so many entries; once it says yes, the job ends
	// with ErrCancelled.
	Cancelled func() bool

	Kept *Kept // if not nil, Run adds to it
}

// Kept counts what compactions have not written anew.
type Kept struct {
	Tables int // that became part of the bottom run, or stayed in it, as they are
	Blocks int // that were copied as they are
}

// Run writes the tables and returns the edit that puts them in place of the inputs, or moves those
// that need not be written anew. Nothing is older than the bottom run, so that tombstones and
// deleted ranges end there.
func (j Job) Run() (*manifest.Edit, error) {
	edit := &manifest.Edit{RemoveYoung: j.Young}
	deleted := j.deleted()
	if j.Kept == nil {
		j.Kept = new(Kept)
	}
	if err := vfs.CatchFaults(func() error { return j.move(edit) }); err != nil {
		return nil, err
	}
	var c superversion.Cursor
	j.Output.Values.Read = c.Value
	j.Output.Spread = j.spread
	w := run.NewWriter(j.Output)
	var output run.Output
	err := vfs.CatchFaults(func() (err error) {
		if err = j.write(w, &c); err == nil {
			output, err = w.Finish() // which may look at values all over the inputs
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	edit.Remove = j.Bottom
	edit.AddValues, edit.AddDictionaries = output.Values, output.Dictionaries
	if j.ToBottom {
		edit.AddBottom = append(edit.AddBottom, output.Tables...)
		return edit, nil
	}
	merged := j.joined(output.Tables, deleted)
	if len(merged.Tables)+len(merged.Deleted) > 0 {
		edit.AddYoung = []manifest.Run{merged}
	}
	return edit, nil
}

// joined returns the output, if it is a young run.
func (j *Job) joined(tables []*manifest.Table, deleted keyspace.Spans) manifest.Run {
	tables = slices.Concat(tables, j.Stays.Tables)
	slices.SortFunc(tables, func(a, b *manifest.Table) int {
		return bytes.Compare(a.Smallest, b.Smallest)
	})
	return manifest.Run{Tables: tables, Deleted: deleted.With(j.Stays.Deleted...)}
}

// deleted returns what the inputs delete of what is older.
func (j *Job) deleted() (deleted keyspace.Spans) {
	for _, input := range j.Inputs {
		if len(input.Deleted) > 0 {
			deleted = deleted.With(input.Deleted...)
		}
	}
	return deleted
}

func (j *Job) write(w *run.Writer, c *superversion.Cursor) error {
	c.InitCompaction(j.Levels, j.Inputs)
	read := 0
	for ok := c.First(); ok; {
		if read++; read%askEvery == 0 && j.Cancelled() {
			return ErrCancelled
		}
		copied, completed, err := j.copyBlock(w, c)
		if !copied && err == nil {
			var more bool
			more, err = j.copyEntry(w, c)
			completed = completed || more
		}
		if err != nil {
			return err
		}
		if completed && j.Cancelled() {
			return ErrCancelled
		}
		if copied {
			ok = c.SkipBlock()
		} else {
			ok = c.Next()
		}
	}
	return c.Err()
}

// spread is the [run.Spread] of what the compaction keeps.
func (j *Job) spread(bucket uint64, bytes int) iter.Seq[keyspace.Entry] {
	return j.Levels.Sample(j.Inputs, superversion.Sample{
		Bucket: bucket, Places: run.Places, Bytes: bytes / run.Places, Now: j.Now,
		EntryBytes: run.EntryBytes,
	})
}

// copyEntry writes the current entry, unless it is one that ends here, and reports whether it has
// completed a file.
func (j *Job) copyEntry(w *run.Writer, c *superversion.Cursor) (completed bool, err error) {
	e, err := c.Entry()
	if err != nil {
		return false, err
	}
	if e.Until != 0 && e.Until <= j.Now {
		e = keyspace.Entry{Kind: keyspace.KindDelete} // which hides what is older as well
	}
	if e.Kind == keyspace.KindDelete && j.ToBottom {
		return false, nil
	}
	return w.Add(c.Key(), e)
}

// copyBlock writes the block that the cursor is in as it is, if it is at its start and all of the
// block is to be written and is compressed as it should be.
func (j *Job) copyBlock(
	w *run.Writer, c *superversion.Cursor,
) (copied, completed bool, err error) {
	t := c.Whole()
	if t == nil || t.Compressed != j.Output.Compress {
		return false, false, nil
	}
	b, err := c.Block()
	if err != nil {
		return false, false, err
	}
	copied, completed, err = w.AddBlock(b)
	if copied {
		j.Kept.Blocks++
	}
	return copied, completed, err
}
