package manifest

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Front is what a compaction into the bottom run that is done in parts, in the order of the keys,
// has made so far: a young run above all runs that it is made of. It deletes from them what its
// parts have read, so a version between two parts says the same as any other, and files of which
// nothing else is left can go. The last part moves its tables into the bottom run.
//
// A front also deletes the empty key, which nobody has. That tells it from other young runs, which
// [Unmarked] keeps from having it. Earlier versions of Stoat leave it in what they make of a front
// and newer runs: if that has tombstones, which are not for the bottom run, it is no front.
type Front struct {
	At int // the index of the run in Version.Young
	// Done is where its parts have read: it has all that there is, and deletes what is older. Nothing
	// older that is young has or deletes a key below it, and no table of the bottom run has keys on
	// both sides of its start.
	Done keyspace.Span
}

// frontMark is what a front deletes besides. It hides nothing, since no key is empty.
func frontMark() keyspace.Span { return keyspace.Span{Start: []byte{}, End: []byte{0}} }

// Unmarked returns what a run deletes that is made of some which delete these ranges, and is no
// front.
func Unmarked(deleted keyspace.Spans) keyspace.Spans {
	if len(deleted) > 0 && deleted[0].Contains(frontMark().Start) {
		return deleted[1:]
	}
	return deleted
}

// NewFront returns the run of a front with these tables, in any order.
func NewFront(tables []*Table, done keyspace.Span) Run {
	tables = slices.Clone(tables)
	SortTables(tables)
	return Run{Tables: tables, Deleted: keyspace.Spans{frontMark(), done}}
}

// Front returns the newest front.
func (v *Version) Front() (f Front, ok bool) {
	for i := range v.Young {
		if done, ok := v.isFront(i); ok {
			return Front{At: i, Done: done}, true
		}
	}
	return Front{}, false
}

// isFront reports whether the young run at an index is a front, and where its parts have read.
func (v *Version) isFront(i int) (done keyspace.Span, ok bool) {
	r, mark := v.Young[i], frontMark()
	if len(r.Deleted) != 2 || !bytes.Equal(r.Deleted[0].Start, mark.Start) ||
		!bytes.Equal(r.Deleted[0].End, mark.End) || r.Deleted[1].End == nil {
		return keyspace.Span{}, false
	}
	done = r.Deleted[1]
	for _, t := range r.Tables {
		if t.Tombstones > 0 || !t.Within(done) {
			return keyspace.Span{}, false
		}
	}
	if v.Bottom.cutBy(done.Start) {
		return keyspace.Span{}, false
	}
	first := FirstKey(v.Young[i+1:])
	return done, first == nil || bytes.Compare(first, done.Start) >= 0
}

// cutBy reports whether a table of the run has keys on both sides of key, which counts as above.
func (r Run) cutBy(key []byte) bool {
	return slices.ContainsFunc(r.Tables, func(t *Table) bool {
		return bytes.Compare(t.Smallest, key) < 0 && bytes.Compare(t.Largest, key) >= 0
	})
}

// FirstKey returns the smallest key that some runs have, or delete, unless that is what tells a
// front; nil if there is none.
func FirstKey(runs []Run) (key []byte) {
	for _, r := range runs {
		r.Deleted = Unmarked(r.Deleted)
		if first, _, ok := r.Span(); ok && (key == nil || bytes.Compare(first, key) < 0) {
			key = first
		}
	}
	return key
}
