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
// young tables count: the merge's output may fill it.
func overlapped(v *manifest.Version) []*manifest.Table {
	var smallest, largest []byte
	for _, r := range v.Young {
		first, last := r.Tables[0].Smallest, r.Tables[len(r.Tables)-1].Largest
		if smallest == nil || bytes.Compare(first, smallest) < 0 {
			smallest = first
		}
		if largest == nil || bytes.Compare(last, largest) > 0 {
			largest = last
		}
	}
	var tables []*manifest.Table
	for _, t := range v.Bottom.Tables {
		if overlaps(t, smallest, largest) {
			tables = append(tables, t)
		}
	}
	return tables
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

func overlaps(t *manifest.Table, first, last []byte) bool {
	return bytes.Compare(t.Smallest, last) <= 0 && bytes.Compare(first, t.Largest) <= 0
}

func runBytes(r manifest.Run) (n uint64) {
	for _, t := range r.Tables {
		n += t.Size
	}
	return n
}
