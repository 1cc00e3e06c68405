package engine

import (
	"bytes"
	"math"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
)

// bytes returns how much there is to read in tables.
func (p plan) bytes(v *manifest.Version) (n uint64) {
	if p.clear {
		return 0
	}
	runs, _, err := p.young.Of(v)
	if err != nil {
		return 0
	}
	for _, r := range runs {
		n += r.Bytes()
	}
	next := 0 // of p.bottom, which is in the order of the keys
	for _, t := range v.Bottom.Tables {
		if next < len(p.bottom) && p.bottom[next] == t.Number {
			n += t.Size
			next++
		}
	}
	return n
}

// cost returns about how much there is to write of what is read: young tables that a compaction
// into the bottom run only moves there cost nothing.
func (p plan) cost(v *manifest.Version) uint64 {
	n := p.bytes(v)
	if !p.toBottom || n == 0 {
		return n
	}
	end := len(v.Young) - p.young.Older
	for i := end - p.young.Count; i < end; i++ {
		for _, t := range v.Young[i].Tables {
			if isApart(v, i, t) {
				n -= t.Size
			}
		}
	}
	return n
}

// isApart reports whether a table of a young run likely lies in a gap between all keys, and is as
// those of the bottom run: flushes compress young tables where they lie in one, and newer ones have
// not come near since. A bottom table around the gap is cut in two there.
func isApart(v *manifest.Version, young int, t *manifest.Table) bool {
	if !t.Compressed || t.Tombstones > 0 {
		return false
	}
	for i, r := range v.Young {
		if i != young && meets(r, t) {
			return false
		}
	}
	return true
}

// meets reports whether a young run may have or delete a key within t.
func meets(r manifest.Run, t *manifest.Table) bool {
	i, _ := slices.BinarySearchFunc(r.Tables, t.Smallest, func(y *manifest.Table, key []byte) int {
		return bytes.Compare(y.Largest, key)
	})
	return i < len(r.Tables) && bytes.Compare(r.Tables[i].Smallest, t.Largest) <= 0 ||
		r.Deleted.Meets(t.Smallest, t.Largest)
}

// overlapped reports whether a young run may have or delete a key within t.
func overlapped(v *manifest.Version, t *manifest.Table) bool {
	return slices.ContainsFunc(v.Young, func(r manifest.Run) bool { return meets(r, t) })
}

// cheapest returns the neighbours, fewest or more of the runs, whose compaction costs the fewest
// bytes for each run that it saves, and how many those are; infinitely many if there are too few
// runs.
func cheapest(runs []manifest.Run, fewest int) (young manifest.YoungRuns, cost float64) {
	cost = math.Inf(1)
	for newest := range runs {
		bytes := runs[newest].Bytes()
		for oldest := newest + 1; oldest < len(runs); oldest++ {
			bytes += runs[oldest].Bytes()
			count := oldest - newest + 1
			if c := float64(bytes) / float64(count-1); count >= fewest && c < cost {
				young, cost = manifest.YoungRuns{Older: len(runs) - 1 - oldest, Count: count}, c
			}
		}
	}
	return young, cost
}

// alike returns how many of the runs, from the newest on, are of about the same size, or 0: the
// last of them is no larger than those before it together. When such are compacted whenever there
// are some, each byte is written about as often as the runs double, and few runs are left.
func alike(runs []manifest.Run) (count int) {
	var newer uint64
	for i, r := range runs {
		if i > 0 && newer >= r.Bytes() {
			count = i + 1
		}
		newer += r.Bytes()
	}
	return count
}
