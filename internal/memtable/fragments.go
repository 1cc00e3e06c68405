package memtable

import (
	"bytes"
	"slices"
	"sort"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

const (
	// fragmentBytes is about what a fragment takes in memory.
	fragmentBytes = 64
	// addMax is how many fragments a range deletion adds at most: itself, in the middle of another.
	addMax = 2
)

// fragment is a span of keys all of whose entries before the mark are hidden.
type fragment struct {
	keyspace.Span // with both bounds, in the arena
	mark          batch.Mark
}

// fragments is what range deletions have left, in key order. The spans may touch and do not
// overlap: where range deletions do, the newest counts, which hides more than the others.
type fragments []fragment

// add returns f with a span deleted at the moment mark, later than all in f. It reuses f's memory.
func (f fragments) add(span keyspace.Span, mark batch.Mark) fragments {
	from := f.find(span.Start, 0)
	to := from + sort.Search(len(f)-from, func(i int) bool {
		return bytes.Compare(span.End, f[from+i].Start) <= 0
	})
	pieces := [1 + addMax]fragment{1: {span, mark}}
	first, end := 1, 2
	if from < to {
		if left := f[from]; bytes.Compare(left.Start, span.Start) < 0 {
			left.End = span.Start
			first, pieces[0] = 0, left
		}
		if right := f[to-1]; bytes.Compare(span.End, right.End) < 0 {
			right.Start = span.End
			end, pieces[2] = 3, right
		}
	}
	return slices.Replace(f, from, to, pieces[first:end]...)
}

// covering returns the index of the fragment that key is in. If there is none, ok is false and i
// is where to look near for the next key.
func (f fragments) covering(key []byte, near int) (i int, ok bool) {
	i = f.find(key, near)
	return i, i < len(f) && bytes.Compare(f[i].Start, key) <= 0
}

// find returns the index of the first fragment that ends above key, which may be len(f). It is
// quickest if that is near.
func (f fragments) find(key []byte, near int) int {
	if (near == 0 || bytes.Compare(f[near-1].End, key) <= 0) &&
		(near == len(f) || bytes.Compare(key, f[near].End) < 0) {
		return near
	}
	return sort.Search(len(f), func(i int) bool { return bytes.Compare(key, f[i].End) < 0 })
}

// spans returns the deleted keys.
func (f fragments) spans() keyspace.Spans {
	all := make([]keyspace.Span, len(f))
	for i := range f {
		all[i] = f[i].Span
	}
	return keyspace.Spans(nil).With(all...)
}
