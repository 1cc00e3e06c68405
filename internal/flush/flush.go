// Package flush is the job that turns a sealed memtable into tables.
//
// A [Job] is a function from its fields to a manifest edit; it creates table files and changes no
// other state. The engine installs the edit, or removes the files if it cannot.
package flush

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Job is a memtable on its way to tables. All memtables sealed before it must have been flushed.
type Job struct {
	Root   memtable.Root        // what to write
	Levels *superversion.Levels // what there is already
	Output run.Config           // Compress, Filter and the drops are the job's to set

	CompressYoung  bool // compress a run that merges will read again soon
	CompressBottom bool // compress a run that is likely to stay

	LogNumber  uint64 // log segments below this are no longer needed afterwards
	LastCommit uint64 // the newest commit in Root
}

// Run writes the tables and returns the edit that adds them. Catalog and data go to tables of their
// own, so that a catalog entry in every memtable does not tie the data to it.
func (j Job) Run() (*manifest.Edit, error) {
	edit := &manifest.Edit{LogNumber: j.LogNumber, LastCommit: j.LastCommit}
	err := vfs.CatchFaults(func() (err error) {
		edit.Drop, err = j.droppedBuckets()
		return err
	})
	if err != nil {
		return nil, err
	}
	data := keyspace.FirstData()
	for _, p := range []part{{nil, data}, {data, nil}} {
		if err := j.write(edit, p); err != nil {
			return nil, errors.Join(err, j.discard(edit))
		}
	}
	return edit, nil
}

// part is the memtable's keys in [first, end); a nil end is no bound.
type part struct{ first, end []byte }

// holds reports whether the cursor is on an entry of the part.
func (p part) holds(c *memtable.Cursor) bool {
	return c.Valid() && (p.end == nil || bytes.Compare(c.Key(), p.end) < 0)
}

// write writes one part of the memtable and adds its tables to edit.
//
// A part beyond the keys of all tables goes straight into the bottom run, where a merge would put
// it: keys that only grow are written once. A gap between tables would not do, since a merge that
// is under way may fill it. Nothing is older than the bottom run, so tombstones have nothing to
// hide there.
func (j Job) write(edit *manifest.Edit, p part) error {
	bottom := j.outside(p)
	w := run.NewWriter(j.output(bottom, edit.Drop))
	var c memtable.Cursor
	c.Init(j.Root)
	for c.Seek(p.first); p.holds(&c); c.Next() {
		if bottom && c.Kind() == keyspace.KindDelete {
			continue
		}
		if _, err := w.Add(c.Kind(), c.Key(), c.Value()); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	tables, err := w.Finish()
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if bottom {
		edit.AddBottom = append(edit.AddBottom, tables...)
	} else {
		edit.AddYoung = append(edit.AddYoung, tables...)
	}
	return nil
}

// discard removes the tables of an edit that will not be.
func (j Job) discard(edit *manifest.Edit) error {
	var errs []error
	for _, t := range slices.Concat(edit.AddYoung, edit.AddBottom) {
		errs = append(errs, j.Output.FS.Remove(filepath.Join(j.Output.Dir, run.Name(t.Number))))
	}
	return errors.Join(errs...)
}

// outside reports whether the part's keys lie beyond those of all tables.
func (j Job) outside(p part) bool {
	var c memtable.Cursor
	c.Init(j.Root)
	c.Seek(p.first)
	if !p.holds(&c) {
		return true
	}
	first := c.Key()
	if p.end == nil {
		c.Last()
	} else {
		c.SeekBefore(p.end)
	}
	return j.Levels.Outside(first, c.Key())
}

// output completes the configuration of the run to write.
func (j Job) output(bottom bool, drop []uint64) run.Config {
	output := j.Output
	output.Filter = !bottom
	output.Compress = j.CompressYoung || bottom && j.CompressBottom
	version := j.Levels.Version
	output.DropEpoch = version.DropEpoch
	if len(drop) > 0 {
		output.DropEpoch++
	}
	if len(drop)+len(version.Dropped) > 0 {
		now := make(map[uint64]bool, len(drop))
		for _, id := range drop {
			now[id] = true
		}
		output.Dropped = func(id uint64) bool { return now[id] || version.IsDropped(id) }
	}
	return output
}

// droppedBuckets returns the buckets that the memtable says were dropped, with all buckets within
// them, however deep: their contents become garbage together.
func (j Job) droppedBuckets() ([]uint64, error) {
	snapshot := &superversion.Superversion{Mem: j.Root, Levels: j.Levels}
	var c superversion.Cursor
	var ids []uint64
	first, end := keyspace.DroppedRange()
	c.Init(snapshot, first, end, true)
	for ok := c.First(); ok; ok = c.Next() {
		if id, ok := keyspace.ParseDropped(c.Key()); ok {
			ids = append(ids, id)
		}
	}
	for i := 0; i < len(ids) && c.Err() == nil; i++ {
		catalog := keyspace.AppendCatalog(nil, ids[i])
		c.Init(snapshot, catalog, keyspace.Successor(catalog), false)
		for ok := c.First(); ok; ok = c.Next() {
			child, n := binary.Uvarint(c.Value())
			if n <= 0 {
				return nil, corrupt.New("catalog", 0, "bucket %q has no valid id", c.Key())
			}
			ids = append(ids, child)
		}
	}
	return ids, c.Err()
}
