// Package merge is the job that turns young runs into the bottom run.
//
// A [Job] is a function from its inputs to a manifest edit; it creates table files and changes no
// other state. The engine picks the inputs and installs the edit.
package merge

import (
	"errors"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// ErrCancelled reports that the job was told to stop; it has removed its files.
var ErrCancelled = errors.New("merge cancelled")

// Job is young runs and tables of the bottom run on their way to new tables of the bottom run.
type Job struct {
	Young  []superversion.Run // the oldest young runs, newest of them first
	Bottom superversion.Run   // every bottom table that their key range touches
	Output run.Config         // Filter must be unset: the bottom run has none

	// Cancelled is asked after each table; once it says yes, the job ends with ErrCancelled.
	Cancelled func() bool
}

// Run writes the tables and returns the edit that puts them in place of the inputs. Nothing is
// older than the bottom run, so tombstones end here.
func (j Job) Run() (*manifest.Edit, error) {
	w := run.NewWriter(j.Output)
	if err := vfs.CatchFaults(func() error { return j.write(w) }); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	tables, err := w.Finish()
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	edit := &manifest.Edit{AddBottom: tables}
	for _, input := range j.inputs() {
		for _, h := range input {
			edit.Remove = append(edit.Remove, h.Meta.Number)
		}
	}
	return edit, nil
}

func (j Job) write(w *run.Writer) error {
	var c superversion.Cursor
	c.InitMerge(j.inputs())
	for ok := c.First(); ok; ok = c.Next() {
		if c.Kind() == keyspace.KindDelete {
			continue
		}
		completed, err := w.Add(c.Kind(), c.Key(), c.Value())
		if err != nil {
			return err
		}
		if completed && j.Cancelled() {
			return ErrCancelled
		}
	}
	return c.Err()
}

// inputs returns all runs to read, newest first.
func (j Job) inputs() []superversion.Run {
	return append(slices.Clip(j.Young), j.Bottom)
}
