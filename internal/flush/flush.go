// Package flush is the job that turns a sealed memtable into tables.
//
// A [Job] is a function from its fields to a manifest edit; it creates files and changes no other
// state. The engine installs the edit, or removes the files if it cannot.
package flush

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Job is a memtable on its way to tables. All memtables sealed before it must have been flushed.
type Job struct {
	Root   memtable.Root        // what to write; nobody writes the memtable any more
	Log    manifest.ValueFile   // its log segment, which holds its values; zero if it has none
	Levels *superversion.Levels // what there is already
	Output run.Config           // Compress, Filter, Spread and the drops are the job's to set

	CompressYoung  bool // compress a run that compactions will read again soon
	CompressBottom bool // compress a run that is likely to stay
	CompressLarge  bool // compress any run of which large values are a good part

	// Leave reports whether there is no time to compress so many bytes of large values, of a run
	// that is likely to stay or not. It is asked before the run, and of one that is not likely to
	// stay again and again. If those that are left are worth a log segment, they stay in that:
	// tables that are not compressed, of a young run, point to them, for a compaction to find. A
	// nil Leave leaves none.
	Leave func(stays bool, bytes uint64) bool
	Reach int64 // then no table points to more bytes, give or take a value

	LogNumber  uint64 // log segments below this are no longer needed for recovery afterwards
	LastCommit uint64 // the newest commit in Root
}

// Run writes the tables and returns the edit that adds them. Catalog and data go to tables of their
// own, so that a catalog entry in every memtable does not tie the data to it.
func (j Job) Run() (*manifest.Edit, error) {
	edit := &manifest.Edit{LogNumber: j.LogNumber, LastCommit: j.LastCommit}
	err := vfs.CatchFaults(func() (err error) {
		edit.Drop, err = j.dropped()
		return err
	})
	if err != nil {
		return nil, err
	}
	young := manifest.Run{}
	data, tally := keyspace.FirstData(), j.tally()
	deleted := j.Root.Deleted()
	i, _ := deleted.Find(data) // no range has keys of both
	for _, p := range []part{{nil, data, deleted[:i]}, {data, nil, deleted[i:]}} {
		if err := j.write(edit, &young, p, tally); err != nil {
			return nil, errors.Join(err, j.discard(edit, young))
		}
	}
	if len(young.Tables)+len(young.Deleted) > 0 {
		edit.AddYoung = []manifest.Run{young}
	}
	return edit, nil
}

// part is the memtable's keys in [first, end), where a nil end is no bound, and the ranges in it
// that the memtable deletes.
type part struct {
	first, end []byte
	deleted    keyspace.Spans
}

// holds reports whether the cursor is on an entry of the part.
func (p part) holds(c *memtable.Cursor) bool {
	return c.Valid() && (p.end == nil || bytes.Compare(c.Key(), p.end) < 0)
}

// write writes one part of the memtable and adds its tables to edit or to the young run.
//
// A part beyond the keys of all tables goes straight into the bottom run, where a compaction would
// put it: keys that only grow are written once. A gap between tables would not do, since a
// compaction that is under way may write a table across it. But what lies in a gap is written as if
// it belonged to the bottom run, so that a compaction need not write it again to move it there:
// compressing it now takes the time that the compaction would take, and each byte is written once,
// compressed, instead of twice. Either way nothing is older, so tombstones have nothing to hide.
func (j Job) write(edit *manifest.Edit, young *manifest.Run, p part, t tally) error {
	first, last := j.extent(p)
	if first == nil {
		return nil
	}
	bottom := j.Levels.Outside(first, last)
	alone := bottom || j.apart(first, last)
	decided := j.decide(t, alone)
	if decided.leave {
		bottom, alone = false, false
	}
	config := j.Config(alone, edit.Drop)
	if config.Compress = decided.compress; decided.leave {
		config.Reach = j.Reach
	}
	config.Spread = j.spread(&config)
	if alone {
		config.TableBytes = evenly(config.TableBytes, j.bytes(p))
	}
	w := run.NewWriter(config)
	values := j.values(&config, decided, t)
	var c memtable.Cursor
	c.Init(j.Root)
	for c.Seek(p.first); p.holds(&c); c.Next() {
		if c.Kind() == keyspace.KindDelete && (alone || p.deleted.Contains(c.Key())) {
			continue
		}
		e, err := values.entry(&c, w)
		if err == nil {
			_, err = w.Add(c.Key(), e)
		}
		if err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	output, err := w.Finish()
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	edit.AddValues = append(edit.AddValues, output.Values...)
	edit.AddDictionaries = append(edit.AddDictionaries, output.Dictionaries...)
	if values.inLog && len(output.Tables) > 0 {
		edit.AddValues = append(edit.AddValues, j.Log)
	}
	if bottom {
		edit.AddBottom = append(edit.AddBottom, output.Tables...)
		return nil
	}
	young.Tables = append(young.Tables, output.Tables...)
	if !alone {
		young.Deleted = append(young.Deleted, p.deleted...)
	}
	return nil
}

// discard removes the files of an edit that will not be.
func (j Job) discard(edit *manifest.Edit, young manifest.Run) error {
	var errs []error
	remove := func(name string) {
		errs = append(errs, j.Output.FS.Remove(filepath.Join(j.Output.Dir, name)))
	}
	for _, t := range append(young.Tables, edit.AddBottom...) {
		remove(run.Name(t.Number))
	}
	for _, f := range edit.AddValues {
		if !f.Log {
			remove(valuelog.Name(f.Number))
		}
	}
	return errors.Join(errs...)
}

// apart reports whether nothing lies, or is deleted, from first to last. What cannot be read may
// hold something there, but is no reason for a flush to fail.
func (j Job) apart(first, last []byte) (apart bool) {
	err := vfs.CatchFaults(func() error {
		end, ok, err := j.Levels.Gap(first)
		apart = ok && (end == nil || bytes.Compare(last, end) < 0)
		return err
	})
	return apart && err == nil
}

// bytes returns the size of the part's keys and values.
func (j Job) bytes(p part) (n int64) {
	var c memtable.Cursor
	c.Init(j.Root)
	for c.Seek(p.first); p.holds(&c); c.Next() {
		n += int64(len(c.Key()) + len(c.Value()))
	}
	return n
}

// evenly returns the size of tables, near the wanted one, with which so many bytes leave no small
// last one: as it lies alone, it would stay. That holds as far as they do not compress, which is
// not known before they are written: compressed tables are fewer, and the last may be small.
func evenly(want, bytes int64) int64 {
	const slack = 16 // for what a table has besides keys and values, as a divisor
	if want <= 0 || bytes <= want {
		return want
	}
	n := (bytes + want/2) / want
	return bytes/n + bytes/n/slack + 1
}

// extent returns the first and the last key that the part has or deletes; first is nil if there is
// none.
func (j Job) extent(p part) (first, last []byte) {
	var c memtable.Cursor
	c.Init(j.Root)
	if c.Seek(p.first); p.holds(&c) {
		first = c.Key()
		if p.end == nil {
			c.Last()
		} else {
			c.SeekBefore(p.end)
		}
		last = c.Key()
	}
	if n := len(p.deleted); n > 0 {
		start, end := p.deleted[0].Start, p.deleted[n-1].End
		if first == nil || bytes.Compare(start, first) < 0 {
			first = start
		}
		if bytes.Compare(end, last) > 0 {
			last = end
		}
	}
	return first, last
}
