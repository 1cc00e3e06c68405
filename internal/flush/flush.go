// Package flush is the job that turns a sealed memtable into tables.
//
// A [Job] is a function from its fields to a manifest edit. It creates files and changes no other
// state. The engine installs the edit, or removes the files if it cannot. For the catalog and the
// data each, a job decides which run their tables join (destination.go) and what becomes of large
// values (large.go), and writes them with package run.
package flush

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// ErrCancelled reports that the job was told to stop. It has removed its files.
var ErrCancelled = errors.New("flush cancelled")

// Job is a memtable on its way to tables. All memtables sealed before it must have been flushed.
type Job struct {
	Root   memtable.Root        // what to write; the memtable does not change any more
	Log    manifest.ValueFile   // its log segment, which holds its values; zero if it has none
	Levels *superversion.Levels // the present tables
	Output run.Config           // the job sets Compress, Filter, Sampler and the drops

	// Far reports whether to read a table may take a request, and fail. A flush must not depend on
	// that, so it reads no such table. A nil Far says that none is far.
	Far func(*manifest.Table) bool

	// More says that the memtable is the first part of a transaction that goes on. If its keys are of
	// several buckets, what comes next is likely to lie among them; see mixed.
	More bool

	// Drop returns the buckets whose contents become garbage. A nil Drop stands for those that the
	// memtable drops, and what is in them.
	Drop func() ([]uint64, error)

	CompressYoung  bool // compress runs that a compaction will soon rewrite
	CompressBottom bool // compress runs that are likely to stay or have enough large values

	// Defer reports whether there is no time to compress large values, in a run that is likely to
	// stay or not. It is called before the run is written and, if the run is not likely to stay,
	// before each large value. If enough bytes are left, they stay in the log segment until a
	// compaction compresses them, and uncompressed young tables point to them. A nil Defer never
	// defers.
	Defer func(stays bool) bool
	Reach int64 // then no table points to more bytes than this, plus one value

	// Quick makes Do take as little time as it can, and leaves work to compactions: see quick.go. It
	// cuts the memtable into about as many pieces as Pieces says. Together calls do for each number
	// below n, at the same time if it can.
	Quick    bool
	Pieces   int
	Together func(n int, do func(i int))

	// Cancelled is called now and then, unless it is nil or the job is quick. Once it returns true,
	// the job ends with ErrCancelled.
	Cancelled func() bool

	LogNumber  uint64 // recovery does not need log segments below this afterwards
	LastCommit uint64 // the newest commit in Root
}

// part is the memtable's keys in [first, end), where a nil end is no bound, and the ranges of them
// that the memtable deletes.
type part struct {
	first, end []byte
	deleted    keyspace.Spans
}

// Do writes the tables and returns the edit that adds them. Catalog and data are written apart:
// with a catalog entry in every memtable, no data would ever lie beyond all tables otherwise.
func (j Job) Do() (*manifest.Edit, error) {
	edit := &manifest.Edit{LogNumber: j.LogNumber, LastCommit: j.LastCommit}
	err := vfs.CatchFaults(func() (err error) {
		edit.Drop, err = j.dropped()
		return err
	})
	if err != nil {
		return nil, err
	}
	young := manifest.Run{}
	data, deleted := keyspace.FirstData(), j.Root.Deleted()
	i, _ := deleted.Find(data) // no range spans both
	parts := []part{{nil, data, deleted[:i]}, {data, nil, deleted[i:]}}
	if j.Quick {
		return edit, j.writeQuickly(edit, parts)
	}
	sizes := sizesOf(j.puts(nil), &j.Output.Values)
	for _, p := range parts {
		if err := j.write(edit, &young, p, sizes); err != nil {
			return nil, errors.Join(err, j.discard(edit, young))
		}
	}
	if len(young.Tables)+len(young.Deleted) > 0 {
		edit.AddYoung = []manifest.Run{young}
	}
	return edit, nil
}

// write writes a part of the memtable and adds its tables to the edit's bottom run or to the young
// run. sizes are those of the whole memtable.
func (j Job) write(edit *manifest.Edit, young *manifest.Run, p part, sizes valueSizes) error {
	first, last := j.extent(p)
	if first == nil {
		return nil
	}
	to := j.destination(first, last)
	if j.More && p.end == nil && j.mixed() {
		to = amongOthers
		sizes.stiff = 0 // it lies outside, and is no reason to compress what a compaction rewrites
	}
	plan := j.plan(sizes, to.stays())
	if plan.deferring {
		to = amongOthers
	}
	config := j.Config(to.stays(), edit.Drop)
	if config.Compress = plan.compress; plan.deferring {
		config.Reach = j.Reach
	}
	config.Sampler = samplerOf(&config, j.puts)
	if to.stays() {
		config.TableBytes = evenly(config.TableBytes, j.bytes(p))
	}
	w := run.NewWriter(config)
	large := largeValues{valuePlan: plan, job: j, config: &config, left: sizes.compressible}
	output, err := j.writeEntries(w, p, to, &large)
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	edit.AddValues = append(edit.AddValues, output.Values...)
	edit.AddDictionaries = append(edit.AddDictionaries, output.Dictionaries...)
	if large.inLog && len(output.Tables) > 0 {
		edit.AddValues = append(edit.AddValues, j.Log)
	}
	if to == beyondAll {
		edit.AddBottom = append(edit.AddBottom, output.Tables...)
		return nil
	}
	young.Tables = append(young.Tables, output.Tables...)
	if to == amongOthers {
		young.Deleted = append(young.Deleted, p.deleted...)
	}
	return nil
}

// writeEntries writes the entries of a part, except for tombstones that hide nothing.
func (j Job) writeEntries(
	w *run.Writer, p part, to destination, large *largeValues,
) (run.Output, error) {
	var c memtable.Cursor
	c.Init(j.Root)
	asker := run.Asker{Cancelled: j.Cancelled}
	ahead := -1 // how many entries the leaf has beyond the last one
	for c.Seek(p.first); p.contains(&c); c.Next() {
		before := ahead
		if ahead = c.Ahead(keyspace.Forward); ahead >= before {
			c.Touch() // another leaf
		}
		if asker.ReadEntry(len(c.Value())); asker.Stops() {
			return run.Output{}, ErrCancelled
		}
		if c.Kind() == keyspace.KindDelete && (to.stays() || p.deleted.Contains(c.Key())) {
			continue
		}
		e, err := large.entry(&c, w)
		if err != nil {
			return run.Output{}, err
		}
		if err := w.Add(c.Key(), e); err != nil {
			return run.Output{}, err
		}
	}
	return w.Finish()
}

func (p part) contains(c *memtable.Cursor) bool {
	return c.Valid() && (p.end == nil || bytes.Compare(c.Key(), p.end) < 0)
}

// extent returns the first and the last key that the part has or deletes; first is nil if it is
// empty.
func (j Job) extent(p part) (first, last []byte) {
	var c memtable.Cursor
	c.Init(j.Root)
	if c.Seek(p.first); p.contains(&c) {
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

// bytes returns the size of the part's keys and values.
func (j Job) bytes(p part) (n int64) {
	var c memtable.Cursor
	c.Init(j.Root)
	for c.Seek(p.first); p.contains(&c); c.Next() {
		n += int64(len(c.Key()) + len(c.Value()))
	}
	return n
}

// discard removes the files of an edit that will not be installed.
func (j Job) discard(edit *manifest.Edit, young manifest.Run) error {
	var errs []error
	remove := func(name string) {
		errs = append(errs, j.Output.FS.Remove(filepath.Join(j.Output.Dir, name)))
	}
	for _, t := range append(young.Tables, edit.AddBottom...) {
		remove(folder.Table.Name(t.Number))
	}
	for _, f := range edit.AddValues {
		if !f.Log {
			remove(folder.Values.Name(f.Number))
		}
	}
	return errors.Join(errs...)
}
