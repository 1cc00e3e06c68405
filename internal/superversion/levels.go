package superversion

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
)

// Handle is a table of the manifest together with the reader of its file.
type Handle struct {
	Meta  *manifest.Table
	Table *table.Table
}

// Run is one sorted run: tables in key order that do not overlap.
type Run []Handle

// Levels is the tables of one manifest version, ready to be read. It is immutable and shared by all
// superversions that are published until the next edit.
type Levels struct {
	Version *manifest.Version
	Young   []Run // newest first
	Bottom  Run   // one run that is older than all of Young; its tables have no filters
}

// NewLevels returns the levels of version. Tables that old has open are taken over, so that their
// maps and blocks stay; open makes the readers of the others. old may be nil.
func NewLevels(
	version *manifest.Version, old *Levels, open func(*manifest.Table) *table.Table,
) *Levels {
	known := make(map[uint64]*table.Table)
	old.each(func(h Handle) { known[h.Meta.Number] = h.Table })
	newRun := func(tables []*manifest.Table) Run {
		run := make(Run, len(tables))
		for i, meta := range tables {
			t := known[meta.Number]
			if t == nil {
				t = open(meta)
			}
			run[i] = Handle{Meta: meta, Table: t}
		}
		return run
	}
	l := &Levels{Version: version, Bottom: newRun(version.Bottom.Tables)}
	for _, run := range version.Young {
		l.Young = append(l.Young, newRun(run.Tables))
	}
	return l
}

// Handle returns the table with the given number, or false.
func (l *Levels) Handle(number uint64) (found Handle, ok bool) {
	l.each(func(h Handle) {
		if h.Meta.Number == number {
			found, ok = h, true
		}
	})
	return found, ok
}

// Outside reports whether all keys of [first, last] lie below every table's, or above.
func (l *Levels) Outside(first, last []byte) bool {
	below, above := true, true
	l.each(func(h Handle) {
		below = below && bytes.Compare(last, h.Meta.Smallest) < 0
		above = above && bytes.Compare(h.Meta.Largest, first) < 0
	})
	return below || above
}

// each calls fn for every table; a nil l has none.
func (l *Levels) each(fn func(Handle)) {
	if l == nil {
		return
	}
	for _, run := range l.Young {
		for _, h := range run {
			fn(h)
		}
	}
	for _, h := range l.Bottom {
		fn(h)
	}
}

// find returns the table whose key range holds key, or nil.
func (r Run) find(key []byte) *Handle {
	i := r.search(key)
	if i == len(r) || bytes.Compare(key, r[i].Meta.Smallest) < 0 {
		return nil
	}
	return &r[i]
}

// search returns the index of the first table whose largest key is not below key.
func (r Run) search(key []byte) int {
	lo, hi := 0, len(r)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if bytes.Compare(r[mid].Meta.Largest, key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// overlaps reports whether the run may have keys in [lower, upper); a nil upper is no bound.
func (r Run) overlaps(lower, upper []byte) bool {
	i := r.search(lower)
	return i < len(r) && (upper == nil || bytes.Compare(r[i].Meta.Smallest, upper) < 0)
}
