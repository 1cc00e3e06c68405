package engine

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// inputs is what to merge: the oldest young runs, and tables of the bottom run.
type inputs struct {
	young  int // how many of the oldest young runs
	bottom []*manifest.Table
}

// bytes returns how much there is to read.
func (in inputs) bytes(v *manifest.Version) (n uint64) {
	for _, r := range v.Young[len(v.Young)-in.young:] {
		n += runBytes(r)
	}
	return n + runBytes(manifest.Run{Tables: in.bottom})
}

// A merge rewrites the bottom tables that the young runs overlap, so it pays to wait for more young
// bytes the larger the bottom run is; but every young run makes reads slower.
const (
	bottomShare  = 4 // young runs of a quarter of the bottom run are worth a merge
	maxYoungRuns = 3 // times youngRuns: then they are merged whatever it costs
)

// pick decides what to merge next. It is a pure function of the manifest's version. With idle set
// it also picks what merely tidies up: any young run, and bottom tables that hold data of dropped
// buckets.
func pick(v *manifest.Version, youngRuns int, idle bool) (inputs, bool) {
	var young, bottom uint64
	for _, r := range v.Young {
		young += runBytes(r)
	}
	bottom = runBytes(v.Bottom)
	n := len(v.Young)
	due := n >= youngRuns && (young >= bottom/bottomShare || n >= maxYoungRuns*youngRuns)
	if due || idle && n > 0 {
		return inputs{young: n, bottom: overlapped(v)}, true
	}
	if idle {
		for _, t := range v.Bottom.Tables {
			if holdsDropped(v, t) {
				return inputs{bottom: []*manifest.Table{t}}, true
			}
		}
	}
	return inputs{}, false
}

// overlapped returns the bottom tables within the span of all young runs. Tables in a gap between
// young tables count: the merge's output may fill it. Catalog and data never share a table, so each
// has a span of its own.
func overlapped(v *manifest.Version) []*manifest.Table {
	var catalog, data span
	for _, r := range v.Young {
		for _, t := range r.Tables {
			if keyspace.IsData(t.Smallest) {
				data.add(t)
			} else {
				catalog.add(t)
			}
		}
	}
	var tables []*manifest.Table
	for _, t := range v.Bottom.Tables {
		if catalog.meets(t) || data.meets(t) {
			tables = append(tables, t)
		}
	}
	return tables
}

// span is the keys from the smallest to the largest of some tables. The zero span has none.
type span struct{ smallest, largest []byte }

func (s *span) add(t *manifest.Table) {
	if s.smallest == nil || bytes.Compare(t.Smallest, s.smallest) < 0 {
		s.smallest = t.Smallest
	}
	if s.largest == nil || bytes.Compare(t.Largest, s.largest) > 0 {
		s.largest = t.Largest
	}
}

func (s *span) meets(t *manifest.Table) bool {
	return s.smallest != nil &&
		bytes.Compare(t.Smallest, s.largest) <= 0 && bytes.Compare(s.smallest, t.Largest) <= 0
}

// holdsDropped reports whether t may hold anything of a bucket that was dropped after it was
// written.
func holdsDropped(v *manifest.Version, t *manifest.Table) bool {
	for _, d := range v.Dropped {
		if t.DropEpoch >= d.Epoch {
			continue
		}
		for _, r := range keyspace.Ranges(d.First, d.Last) {
			if bytes.Compare(t.Largest, r[0]) >= 0 && bytes.Compare(t.Smallest, r[1]) < 0 {
				return true
			}
		}
	}
	return false
}

func runBytes(r manifest.Run) (n uint64) {
	for _, t := range r.Tables {
		n += t.Size
	}
	return n
}
