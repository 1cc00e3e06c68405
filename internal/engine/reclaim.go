package engine

import (
	"cmp"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
)

// Bounds of the garbage in value files, by which reclaiming is picked.
const (
	// garbageBusy and garbageIdle are how many bytes of garbage there may be for 100 bytes of live
	// values while there are commits, and while there are none.
	garbageBusy = 100
	garbageIdle = 35
	// reclaimTo is where reclaiming stops. The distance keeps it from starting for every few bytes.
	reclaimTo = 20
	// reclaimBytes bounds the values that are written anew by one compaction, and with them the
	// space that is taken twice meanwhile.
	reclaimBytes = 4 << 30
)

// reclaimBusy picks what to reclaim whatever else goes on.
func (p picker) reclaimBusy(v *manifest.Version) (plan, bool) { return p.reclaim(v, garbageBusy) }

// reclaimIdle picks what to reclaim when there is time.
func (p picker) reclaimIdle(v *manifest.Version) (plan, bool) { return p.reclaim(v, garbageIdle) }

// reclaim picks value files with much garbage, to write their live values anew. How much is live
// in a file is an exact sum over the tables; what it costs to be rid of a file is its live bytes,
// so that the files with the smallest live share come first. most is how many bytes of garbage
// there may be for 100 bytes of live values.
func (p picker) reclaim(v *manifest.Version, most uint64) (plan, bool) {
	var live, garbage uint64
	for _, f := range v.ValueFiles {
		live += f.Live
		garbage += garbageOf(f)
	}
	if garbage <= p.garbage+live*most/100 {
		return plan{}, false
	}
	files := p.reclaimable(v)
	next := plan{why: "reclaim", toBottom: true}
	enough := p.garbage/2 + live*reclaimTo/100
	copied := uint64(0)
	for _, f := range files {
		copied += f.Live
		if garbage <= enough || copied > reclaimBytes && len(next.relocate) > 0 {
			break
		}
		garbage -= garbageOf(f)
		next.relocate = append(next.relocate, f.Number)
	}
	slices.Sort(next.relocate)
	next.bottom = pointingInto(v, next.relocate)
	return next, len(next.bottom) > 0
}

// scattered picks log segments, to bring their values into the order of their keys, once in a
// value's life: scans are slow until then. It waits until the values are worth the keys that have
// to be written with them.
func (p picker) scattered(v *manifest.Version) (plan, bool) {
	var live uint64
	for _, f := range v.ValueFiles {
		if f.Log {
			live += f.Live
		}
	}
	if len(v.Young) > 0 || live < p.garbage {
		return plan{}, false
	}
	next := inOrder(v, func(f manifest.ValueFile) bool {
		return f.Log && !p.damaged.has(f.Number)
	}, p.avoidsTable)
	next.why = "scattered"
	return next, len(next.bottom) > 0 && live >= next.bytes(v)
}

// inOrder returns the compaction that writes the values of disorderly files anew, in the order of
// their keys, of as many neighbouring tables as have so many, without those to skip.
func inOrder(
	v *manifest.Version, disorderly func(manifest.ValueFile) bool, skip func(*manifest.Table) bool,
) plan {
	next := plan{toBottom: true}
	for _, f := range v.ValueFiles {
		if disorderly(f) {
			next.relocate = append(next.relocate, f.Number)
		}
	}
	bytes := uint64(0)
	for _, t := range v.Bottom.Tables {
		before := bytes
		for _, share := range t.Values {
			if _, found := slices.BinarySearch(next.relocate, share.File); found && !skip(t) {
				bytes += share.Bytes
			}
		}
		if bytes > before {
			next.bottom = append(next.bottom, t.Number)
		}
		if bytes >= reclaimBytes {
			break
		}
	}
	return next
}

// garbageOf returns the bytes of the file that nothing points to. Several pointers to one value
// count several times, so that it may be 0 before all is garbage.
func garbageOf(f manifest.ValueFile) uint64 { return f.Size - min(f.Size, f.Live) }

// reclaimable returns the files that only the bottom run points into and that have garbage, those
// with the smallest live share first. Neither they nor the tables that point into them are damaged.
func (p picker) reclaimable(v *manifest.Version) []manifest.ValueFile {
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
		return needed[f.Number] || p.damaged.has(f.Number) || garbageOf(f) == 0
	})
	slices.SortFunc(files, func(a, b manifest.ValueFile) int {
		return cmp.Or(
			cmp.Compare(float64(a.Live)/float64(a.Size), float64(b.Live)/float64(b.Size)),
			cmp.Compare(a.Number, b.Number))
	})
	return files
}

// pointingInto returns the numbers of the bottom tables that point into one of the files, which are
// in order.
func pointingInto(v *manifest.Version, files []uint64) (numbers []uint64) {
	for _, t := range v.Bottom.Tables {
		if slices.ContainsFunc(t.Values, func(share manifest.ValueShare) bool {
			_, found := slices.BinarySearch(files, share.File)
			return found
		}) {
			numbers = append(numbers, t.Number)
		}
	}
	return numbers
}
