package superversion

import (
	"bytes"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// Handle is a table of the manifest with the reader of its file.
type Handle struct {
	Meta  *manifest.Table
	Table *table.Table
}

// Run is one sorted run: tables in key order that do not overlap, and the ranges that it deletes
// from everything older.
type Run struct {
	Tables  []Handle
	Deleted keyspace.Spans
	newer   []keyspace.Spans // what newer runs delete from it, newest first; none is empty
}

// Levels is the tables of one manifest version, ready to be read, and the value files that they
// point into. It is immutable. All superversions that are published before the next manifest edit
// share it.
type Levels struct {
	Version *manifest.Version
	Young   []Run // newest first
	Bottom  Run   // older than all of Young; the filters of its tables are not asked

	values       map[uint64]*valuelog.File // by number
	dictionaries []*block.Dictionary       // by number
	now          func() uint64
}

// Opener makes the readers of files and tells the time.
type Opener struct {
	Table  func(*manifest.Table, []*block.Dictionary) *table.Table
	Values func(manifest.ValueFile) *valuelog.File
	Now    func() uint64 // milliseconds since 1970
}

// NewLevels returns the levels of version. It shares the files that old has open, with their
// maps and blocks; open makes the readers of the others. old may be nil.
func NewLevels(version *manifest.Version, old *Levels, open Opener) *Levels {
	if old == nil {
		old = new(Levels)
	}
	l := &Levels{Version: version, now: open.Now}
	l.takeDictionaries(old)
	known := make(map[uint64]*table.Table)
	old.Each(func(h Handle) { known[h.Meta.Number] = h.Table })
	newRun := func(r manifest.Run) Run {
		run := Run{Tables: make([]Handle, len(r.Tables)), Deleted: r.Deleted}
		for i, meta := range r.Tables {
			t := known[meta.Number]
			if t == nil {
				t = open.Table(meta, l.dictionariesOf(meta))
			}
			run.Tables[i] = Handle{Meta: meta, Table: t}
		}
		return run
	}
	var newer []keyspace.Spans
	for _, r := range version.Young {
		run := newRun(r)
		run.newer = newer
		if len(run.Deleted) > 0 {
			newer = append(newer, run.Deleted)
		}
		l.Young = append(l.Young, run)
	}
	l.Bottom = newRun(version.Bottom)
	l.Bottom.newer = newer
	l.takeValues(old, open)
	return l
}

// dictionariesOf returns the dictionaries that a table refers to.
func (l *Levels) dictionariesOf(meta *manifest.Table) (all []*block.Dictionary) {
	for _, number := range meta.Dictionaries {
		if d := l.dictionary(number); d != nil {
			all = append(all, d)
		}
	}
	return all
}

func (l *Levels) takeValues(old *Levels, open Opener) {
	l.values = make(map[uint64]*valuelog.File, len(l.Version.ValueFiles))
	for _, f := range l.Version.ValueFiles {
		file := old.values[f.Number]
		if file == nil {
			file = open.Values(f)
		}
		l.values[f.Number] = file
	}
}

// Without returns the levels without the readers of some files, for [NewLevels] to make new ones.
func (l *Levels) Without(numbers map[uint64]bool) *Levels {
	rest := &Levels{
		Version: l.Version, values: maps.Clone(l.values), dictionaries: l.dictionaries, now: l.now,
	}
	keep := func(t *manifest.Table) bool { return !numbers[t.Number] }
	for _, r := range l.Young {
		rest.Young = append(rest.Young, r.Only(keep))
	}
	rest.Bottom = l.Bottom.Only(keep)
	maps.DeleteFunc(rest.values, func(number uint64, _ *valuelog.File) bool { return numbers[number] })
	return rest
}

// Values returns the reader of a value file, or nil.
func (l *Levels) Values(number uint64) *valuelog.File { return l.values[number] }

// Outside reports whether all keys of [first, last] lie below everything that the runs have or
// delete, or all above.
func (l *Levels) Outside(first, last []byte) bool {
	below := true
	for _, r := range append(slices.Clone(l.Version.Young), l.Version.Bottom) {
		smallest, _, ok := r.Span()
		below = below && (!ok || bytes.Compare(last, smallest) < 0)
	}
	return below || l.Above(first)
}

// Above reports whether key lies above everything that the runs have or delete.
func (l *Levels) Above(key []byte) bool {
	for _, r := range append(slices.Clone(l.Version.Young), l.Version.Bottom) {
		if _, largest, ok := r.Span(); ok && (largest == nil || bytes.Compare(largest, key) >= 0) {
			return false
		}
	}
	return true
}

// Each calls fn for every table.
func (l *Levels) Each(fn func(Handle)) {
	for _, run := range l.Young {
		for _, h := range run.Tables {
			fn(h)
		}
	}
	for _, h := range l.Bottom.Tables {
		fn(h)
	}
}

// Hides reports whether newer runs delete any of the keys from first to last.
func (r *Run) Hides(first, last []byte) bool {
	return slices.ContainsFunc(r.newer, func(s keyspace.Spans) bool { return s.Meets(first, last) })
}

// Only returns the run with just the tables for which keep returns true.
func (r Run) Only(keep func(*manifest.Table) bool) Run {
	only := Run{newer: r.newer}
	for _, h := range r.Tables {
		if keep(h.Meta) {
			only.Tables = append(only.Tables, h)
		}
	}
	return only
}

// tableOf returns the table whose key range contains key, or nil.
func (r *Run) tableOf(key []byte) *Handle {
	i := r.search(key)
	if i == len(r.Tables) || bytes.Compare(key, r.Tables[i].Meta.Smallest) < 0 {
		return nil
	}
	return &r.Tables[i]
}

// search returns the index of the first table whose largest key is not below key.
func (r *Run) search(key []byte) int {
	lo, hi := 0, len(r.Tables)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if bytes.Compare(r.Tables[mid].Meta.Largest, key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// overlaps reports whether the run may have keys in [lower, upper); a nil upper is no bound.
func (r *Run) overlaps(lower, upper []byte) bool {
	i := r.search(lower)
	return i < len(r.Tables) &&
		(upper == nil || bytes.Compare(r.Tables[i].Meta.Smallest, upper) < 0)
}
