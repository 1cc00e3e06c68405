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
	// A compaction rewrites values of about Limits.ValueBytes, or of stepTables times what it may
	// write of tables for that, but of no more than stepMost, or stepParts times Limits.PartBytes. So
	// they take little space twice, and one that Close ends has written little in vain.
	stepTables = 4
	stepMost   = 4 << 30
	stepParts  = 8
	// scatteredBytes of values in log segments are worth bringing into the order of their keys, and
	// so is scatteredShare of all values, as a divisor. Smaller portions would make many small
	// value files.
	scatteredBytes = 32 << 20
	scatteredShare = 4
)

// The reasons of compactions that are done in steps.
const (
	whyReclaim   = "reclaim"
	whyScattered = "scattered"
)

// reclaim returns a function that picks value files once they have more than most bytes of garbage
// for 100 bytes of live values.
func reclaim(most uint64) func(Picker, *manifest.Version) (Plan, bool) {
	return func(p Picker, v *manifest.Version) (Plan, bool) { return p.reclaim(v, most) }
}

// reclaim picks value files with much garbage, to rewrite their live values. How much of a file is
// live is an exact sum over the tables. Reclaiming a file costs its live bytes, so the files with
// the smallest live share come first. Once begun, it goes on until little garbage is left.
func (p Picker) reclaim(v *manifest.Version, most uint64) (Plan, bool) {
	var live, garbage uint64
	for _, f := range v.ValueFiles {
		live += f.Live
		garbage += f.Garbage()
	}
	enough := p.Garbage/2 + live*reclaimTo/100
	if garbage <= p.Garbage+live*most/100 && (p.Begun != whyReclaim || garbage <= enough) {
		return Plan{}, false
	}
	next := Plan{ToBottom: true}
	copied, step := uint64(0), p.step(v)
	for _, f := range p.reclaimable(v) {
		copied += f.Live
		if garbage <= enough || copied > step && len(next.Relocate) > 0 {
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

// step returns how many bytes of values a compaction may rewrite.
func (p Picker) step(v *manifest.Version) uint64 {
	tables, most := uint64(0), uint64(stepMost)
	for _, t := range v.Bottom.Tables {
		if len(t.Values) > 0 {
			tables += t.Size
		}
	}
	if p.PartBytes > 0 {
		most = min(most, stepParts*p.PartBytes)
	}
	return min(most, max(p.ValueBytes, stepTables*tables))
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
// that have to be written with them. Once begun, it goes on until none is left.
func (p Picker) scattered(v *manifest.Version) (Plan, bool) {
	var live, all uint64
	for _, f := range v.ValueFiles {
		all += f.Live
		if f.Log {
			live += f.Live
		}
	}
	begun := p.Begun == whyScattered
	if len(v.Young) > 0 || !begun && live < min(scatteredBytes, all/scatteredShare) {
		return Plan{}, false
	}
	step := p.step(v)
	if live <= step+step/2 { // rather than a tiny step at the end
		step = live
	}
	next := inOrder(v, func(f manifest.ValueFile) bool {
		return f.Log && !p.Damaged.Has(f.Number)
	}, p.avoidsTable, step)
	return next, len(next.Bottom) > 0 && (begun || live >= next.Bytes(v))
}

// scatteredOn is scattered once it has begun.
func (p Picker) scatteredOn(v *manifest.Version) (Plan, bool) {
	if p.Begun != whyScattered {
		return Plan{}, false
	}
	return p.scattered(v)
}

// inOrder returns the compaction that rewrites the values of disorderly files in the order of their
// keys, about so many bytes of them, without tables to skip.
func inOrder(
	v *manifest.Version,
	disorderly func(manifest.ValueFile) bool, skip func(*manifest.Table) bool, most uint64,
) Plan {
	next := Plan{ToBottom: true, MostValues: most}
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
