package pick

import (
	"cmp"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
)

const (
	// garbageBusy and garbageIdle are how many bytes of garbage value files may have for 100 bytes
	// of live values while there are commits, and in a pause.
	garbageBusy = 100
	garbageIdle = 35
	// reclaimTo is where reclaiming stops. The distance keeps it from starting for every few bytes.
	reclaimTo = 20
	// reclaimBytes bounds the values that one compaction rewrites, and so the space that they take
	// twice until it ends. So does reclaimParts, times Limits.PartBytes.
	reclaimBytes = 4 << 30
	reclaimParts = 8
	// scatteredBytes of values in log segments are worth bringing into the order of their keys, and
	// so is scatteredShare of all values, as a divisor. Smaller portions would make many small
	// value files.
	scatteredBytes = 32 << 20
	scatteredShare = 4
)

// reclaim returns a function that picks value files once they have more than most bytes of garbage
// for 100 bytes of live values.
func reclaim(most uint64) func(Picker, *manifest.Version) (Plan, bool) {
	return func(p Picker, v *manifest.Version) (Plan, bool) { return p.reclaim(v, most) }
}

// reclaim picks value files with much garbage, to rewrite their live values. How much of a file is
// live is an exact sum over the tables. Reclaiming a file costs its live bytes, so the files with
// the smallest live share come first.
func (p Picker) reclaim(v *manifest.Version, most uint64) (Plan, bool) {
	var live, garbage uint64
	for _, f := range v.ValueFiles {
		live += f.Live
		garbage += f.Garbage()
	}
	if garbage <= p.Garbage+live*most/100 {
		return Plan{}, false
	}
	next := Plan{ToBottom: true}
	enough := p.Garbage/2 + live*reclaimTo/100
	copied := uint64(0)
	for _, f := range p.reclaimable(v) {
		copied += f.Live
		if garbage <= enough || copied > p.mostValues() && len(next.Relocate) > 0 {
			break
		}
		if f.Garbage() < f.Live*reclaimTo/100 {
			break // most garbage is where young runs point to, and goes with them
		}
		garbage -= f.Garbage()
		next.Relocate = append(next.Relocate, f.Number)
	}
	slices.Sort(next.Relocate)
	for _, t := range v.Bottom.Tables {
		if bytesIn(t, next.Relocate) > 0 {
			next.Bottom = append(next.Bottom, t.Number)
		}
	}
	return next, len(next.Bottom) > 0
}

// mostValues returns how many bytes of values a compaction may rewrite.
func (p Picker) mostValues() uint64 {
	if p.PartBytes == 0 {
		return reclaimBytes
	}
	return min(reclaimBytes, reclaimParts*p.PartBytes)
}

// reclaimable returns the files with garbage into which only the bottom run points, the smallest
// live share first. Neither they nor the tables that point into them are damaged.
func (p Picker) reclaimable(v *manifest.Version) []manifest.ValueFile {
	needed := make(map[uint64]bool)
	need := func(t *manifest.Table) {
		for _, share := range t.Values {
			needed[share.File] = true
		}
	}
	for _, r := range v.Young {
		for _, t := range r.Tables {
			need(t)
		}
	}
	for _, t := range v.Bottom.Tables {
		if p.avoidsTable(t) {
			need(t)
		}
	}
	files := slices.DeleteFunc(slices.Clone(v.ValueFiles), func(f manifest.ValueFile) bool {
		return needed[f.Number] || p.Damaged.Has(f.Number) || f.Garbage() == 0
	})
	slices.SortFunc(files, func(a, b manifest.ValueFile) int {
		return cmp.Or(
			cmp.Compare(float64(a.Live)/float64(a.Size), float64(b.Live)/float64(b.Size)),
			cmp.Compare(a.Number, b.Number))
	})
	return files
}

// scattered picks log segments, to bring their values into key order, once for each value: scans
// are slow until then. It waits until there are at least as many bytes of values as of the tables
// that have to be written with them.
func (p Picker) scattered(v *manifest.Version) (Plan, bool) {
	var live, all uint64
	for _, f := range v.ValueFiles {
		all += f.Live
		if f.Log {
			live += f.Live
		}
	}
	if len(v.Young) > 0 || live < min(scatteredBytes, all/scatteredShare) {
		return Plan{}, false
	}
	next := inOrder(v, func(f manifest.ValueFile) bool {
		return f.Log && !p.Damaged.Has(f.Number)
	}, p.avoidsTable, p.mostValues())
	return next, len(next.Bottom) > 0 && live >= next.Bytes(v)
}

// inOrder returns the compaction that rewrites the values of disorderly files in the order of their
// keys, of as many tables as have so many bytes of them, without those to skip.
func inOrder(
	v *manifest.Version,
	disorderly func(manifest.ValueFile) bool, skip func(*manifest.Table) bool, most uint64,
) Plan {
	next := Plan{ToBottom: true}
	for _, f := range v.ValueFiles {
		if disorderly(f) {
			next.Relocate = append(next.Relocate, f.Number)
		}
	}
	all := uint64(0)
	for _, t := range v.Bottom.Tables {
		if bytes := bytesIn(t, next.Relocate); bytes > 0 && !skip(t) {
			next.Bottom = append(next.Bottom, t.Number)
			all += bytes
		}
		if all >= most {
			break
		}
	}
	return next
}

// bytesIn returns how many bytes of values a table points to in the files, which are in order.
func bytesIn(t *manifest.Table, files []uint64) (n uint64) {
	for _, share := range t.Values {
		if _, found := slices.BinarySearch(files, share.File); found {
			n += share.Bytes
		}
	}
	return n
}
