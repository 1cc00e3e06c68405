package pick

import (
	"cmp"
	"math"

	"github.com/stoatdb/stoat/internal/manifest"
)

// Young runs make reads slower, and compacting them into the bottom run rewrites the part of it
// that they overlap. So they wait until they are as large as the bottom run: compactions of a
// growing database then write each byte about twice. If there are too many before that, some are
// compacted with each other: the neighbours that cost the fewest bytes for each run saved, which
// are of about the same size.

const (
	// In a pause, young runs of tidyShare of the bottom run's bytes, as a divisor, are compacted
	// into it, and all are while the bottom run has at most tidyBottom bytes.
	tidyShare  = 16
	tidyBottom = 256 << 20
	// manySpans is how many deleted ranges of young runs are a burden, in memory and in the
	// manifest.
	manySpans = 100_000
	// cheapShare, times the bytes of the young runs, is how much compacting them into the bottom
	// run may write in a pause.
	cheapShare = 2
	// cutBytes is how much may be written to cut deleted ranges out of the bottom run. That is
	// rare: such ranges come with a full memtable, or are large, or have waited long.
	cutBytes = 128 << 20
	// valueShare of the bytes of all values, as a divisor, justify a compaction that finds garbage
	// values, if it writes less than the same share of them.
	valueShare = 4
)

// grown picks all young runs once they are as large as the bottom run, delete too many ranges,
// which end in the bottom run, or have many of the values.
func (p Picker) grown(v *manifest.Version) (Plan, bool) {
	large := len(v.Young) >= p.YoungRuns && youngBytes(v) >= v.Bottom.Bytes()
	if !large && youngSpans(v) <= manySpans && !p.shadows(v) {
		return Plan{}, false
	}
	return IntoBottom(v), true
}

// shadows reports whether young runs have so many of the values that it pays to find the older
// values that they replaced. That costs little if values are large.
func (p Picker) shadows(v *manifest.Version) bool {
	young, old := uint64(0), valueBytes(v.Bottom)
	for _, r := range v.Young {
		young += valueBytes(r)
	}
	if young < p.Garbage || young < old/valueShare || old == 0 {
		return false
	}
	return IntoBottom(v).Bytes(v) <= young/valueShare
}

// crowded picks neighbours among too many young runs, or all of them and the bottom run, whichever
// costs the least for each run saved. If damage leaves no YoungRuns neighbours to compact, two are
// enough once there are twice as many runs.
func (p Picker) crowded(v *manifest.Version) (Plan, bool) {
	n := len(v.Young)
	if n < p.CrowdedRuns() || n < 2 {
		return Plan{}, false
	}
	next := IntoBottom(v)
	least := float64(next.cost(v)) / float64(n)
	if p.Avoids(next, v) {
		least = math.Inf(1)
	}
	for _, fewest := range []int{p.YoungRuns, 2} {
		for _, s := range p.segments(v) {
			young, cost := p.cheapest(s.runs, fewest)
			if young.Older += s.older; cost < least {
				least = cost
				next = Plan{Young: young}
			}
		}
		if !math.IsInf(least, 1) || n <= 2*p.CrowdedRuns() {
			break
		}
	}
	return next, !math.IsInf(least, 1)
}

// tidy picks young runs in a pause: all of them, into the bottom run, if that is small or they are
// large, if it is cheap, or if they delete much or have expired; otherwise neighbours of about the
// same size.
func (p Picker) tidy(v *manifest.Version) (Plan, bool) {
	if len(v.Young) == 0 {
		return Plan{}, false
	}
	next, young := IntoBottom(v), youngBytes(v)
	worth := v.Bottom.Bytes() <= tidyBottom || young >= v.Bottom.Bytes()/tidyShare ||
		next.cost(v) <= cheapShare*young || deletesMuch(v) ||
		youngSpans(v) > 0 && next.cost(v) <= cutBytes
	for _, r := range v.Young {
		for _, t := range r.Tables {
			worth = worth || t.StaleAt != 0 && t.StaleAt <= p.Now
		}
	}
	if worth && !p.Avoids(next, v) {
		return next, true
	}
	for _, s := range p.segments(v) {
		if n := alike(s.runs); n > 0 && bytesOf(s.runs[:n]) <= p.mostYoung() {
			young := manifest.YoungRuns{Older: s.older + len(s.runs) - n, Count: n}
			return Plan{Young: young}, true
		}
	}
	return Plan{}, false
}

// deletesMuch reports whether young runs delete a good part of the bottom run.
func deletesMuch(v *manifest.Version) bool {
	var tombstones, entries, touched uint64
	for _, r := range v.Young {
		for _, t := range r.Tables {
			tombstones += t.Tombstones
		}
	}
	for _, t := range v.Bottom.Tables {
		entries += t.Entries
		for _, r := range v.Young {
			if r.Deleted.Meets(t.Smallest, t.Largest) {
				touched += t.Size
				break
			}
		}
	}
	return tombstones > entries/tidyShare || touched > v.Bottom.Bytes()/tidyShare
}

func youngBytes(v *manifest.Version) uint64 { return bytesOf(v.Young) }

func bytesOf(runs []manifest.Run) (n uint64) {
	for _, r := range runs {
		n += r.Bytes()
	}
	return n
}

// valueBytes returns the bytes of the values in value files that a run points to.
func valueBytes(r manifest.Run) (n uint64) {
	for _, t := range r.Tables {
		for _, share := range t.Values {
			n += share.Bytes
		}
	}
	return n
}

// youngSpans returns how many ranges the young runs delete.
func youngSpans(v *manifest.Version) (n int) {
	for _, r := range v.Young {
		n += len(r.Deleted)
	}
	return n
}

// Cheapest returns the neighbours, at least fewest of the runs, whose compaction costs the fewest
// bytes for each run saved, and that cost, which is infinite if there are too few runs.
func Cheapest(runs []manifest.Run, fewest int) (young manifest.YoungRuns, cost float64) {
	return cheapest(runs, fewest, math.MaxUint64)
}

// cheapest is Cheapest of neighbours that may be compacted with each other.
func (p Picker) cheapest(runs []manifest.Run, fewest int) (young manifest.YoungRuns, cost float64) {
	return cheapest(runs, fewest, p.mostYoung())
}

// mostYoung returns how many bytes young runs may have that are compacted with each other.
func (p Picker) mostYoung() uint64 { return cmp.Or(p.YoungBytes, math.MaxUint64) }

// cheapest is Cheapest of neighbours with no more than so many bytes.
func cheapest(
	runs []manifest.Run, fewest int, most uint64,
) (young manifest.YoungRuns, cost float64) {
	cost = math.Inf(1)
	for newest := range runs {
		bytes := runs[newest].Bytes()
		for oldest := newest + 1; oldest < len(runs); oldest++ {
			bytes += runs[oldest].Bytes()
			count := oldest - newest + 1
			if bytes > most {
				break
			}
			if c := float64(bytes) / float64(count-1); count >= fewest && c < cost {
				young, cost = manifest.YoungRuns{Older: len(runs) - 1 - oldest, Count: count}, c
			}
		}
	}
	return young, cost
}

// alike returns how many of the runs, from the newest on, are of about the same size, or 0: the
// last of them is no larger than all newer ones together. If such runs are compacted as soon as
// they appear, each byte is written about once for each doubling of the runs, and few runs are
// left.
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
