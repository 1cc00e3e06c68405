// Package merge is the job that turns young runs into fewer: into the bottom run, or into one young
// run.
//
// A [Job] is a function from its inputs to a manifest edit; it creates files and changes no other
// state. The engine picks the inputs and installs the edit.
package merge

import (
	"errors"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// ErrCancelled reports that the job was told to stop; it has removed its files.
var ErrCancelled = errors.New("merge cancelled")

// Job is young runs, and perhaps tables of the bottom run, on their way to new tables.
type Job struct {
	Levels *superversion.Levels
	Inputs []superversion.Run // newest first; with ToBottom the tables of the bottom run come last
	Young  manifest.YoungRuns // which of the young runs the inputs are
	Bottom []uint64           // the numbers of the inputs' bottom tables
	Output run.Config         // Values.Read is the job's to set

	// ToBottom says that the output belongs to the bottom run. Then the inputs are the oldest young
	// runs, or none, and every bottom table that their keys and deletions touch, and the output has
	// no filter.
	ToBottom bool
	Now      uint64 // what has expired by then is not written; in milliseconds since 1970

	// Cancelled is asked after each file; once it says yes, the job ends with ErrCancelled.
	Cancelled func() bool
}

// Run writes the tables and returns the edit that puts them in place of the inputs. Nothing is
// older than the bottom run, so that tombstones and deleted ranges end there.
func (j Job) Run() (*manifest.Edit, error) {
	var c superversion.Cursor
	j.Output.Values.Read = c.Value
	w := run.NewWriter(j.Output)
	if err := vfs.CatchFaults(func() error { return j.write(w, &c) }); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	output, err := w.Finish()
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	edit := &manifest.Edit{RemoveYoung: j.Young, Remove: j.Bottom, AddValues: output.Values}
	if j.ToBottom {
		edit.AddBottom = output.Tables
		return edit, nil
	}
	var deleted []keyspace.Span
	for _, input := range j.Inputs {
		deleted = append(deleted, input.Deleted...)
	}
	merged := manifest.Run{Tables: output.Tables, Deleted: keyspace.Spans(nil).With(deleted...)}
	if len(merged.Tables)+len(merged.Deleted) > 0 {
		edit.AddYoung = []manifest.Run{merged}
	}
	return edit, nil
}

func (j Job) write(w *run.Writer, c *superversion.Cursor) error {
	c.InitMerge(j.Levels, j.Inputs)
	for ok := c.First(); ok; ok = c.Next() {
		e := c.Entry()
		if e.Until != 0 && e.Until <= j.Now {
			e = keyspace.Entry{Kind: keyspace.KindDelete} // which hides what is older as well
		}
		if e.Kind == keyspace.KindDelete && j.ToBottom {
			continue
		}
		completed, err := w.Add(c.Key(), e)
		if err != nil {
			return err
		}
		if completed && j.Cancelled() {
			return ErrCancelled
		}
	}
	return c.Err()
}
