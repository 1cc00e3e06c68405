package engine

import (
	"bytes"
	"math"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
)

// plan is a compaction to do: what it reads, and where its output belongs.
type plan struct {
	why      string
	young    manifest.YoungRuns
	bottom   []uint64 // numbers of tables of the bottom run
	toBottom bool     // the output is part of the bottom run, else it is one young run
	clear    bool     // the bottom tables hold nothing that counts, and go unread
	tight    bool     // as in [compaction.Job]
	relocate []uint64 // value files whose values are written anew, by number
	deferred uint64   // the one table of the young run that is written anew; 0 for the whole run
}

// picker decides what to compact next. Its methods are pure functions of the manifest's version.
//
// Young runs make reads slower, and compacting them into the bottom run rewrites what they overlap
// of it. So they wait until they are as large as the bottom run, which makes a growing database
// write each byte about twice in all its compactions. Should they become too many before that, some
// are compacted with each other: those for which the fewest bytes are written for each run that is
// saved, which are neighbours of about the same size.
type picker struct {
	youngRuns int    // so many young runs are worth a compaction
	idle      bool   // nobody commits: pick also what merely tidies up
	garbage   uint64 // bytes of garbage in value files that are of no concern
	small     uint64 // bytes below which a table is too small to stay in the bottom run
	now       uint64 // milliseconds since 1970
	shrinks   bool   // large values are compressed
	damaged   damaged
}

const (
	// tooMany, times youngRuns, is how many young runs are compacted whatever it costs.
	tooMany = 3
	// tidyShare of the bottom run's bytes, as a divisor, is worth to be compacted into it when
	// there is nothing else to do; any run is while the bottom run has no more than tidyBottom
	// bytes.
	tidyShare  = 16
	tidyBottom = 256 << 20
	// manySpans is how many deleted ranges of young runs are worth a compaction when there is
	// nothing else to do, and tooManySpans how many are a burden, in memory and in the manifest,
	// even while there are commits.
	manySpans    = 1000
	tooManySpans = 100 * manySpans
	// cheapShare, times the bytes of the young runs, is what compacting them into the bottom run
	// may cost when there is nothing else to do.
	cheapShare = 2
	// valueShare of the bytes of all values, as a divisor, are worth a compaction that finds out
	// which values are garbage, if it writes less than an equal share of them.
	valueShare = 4
)

// pick returns the most urgent compaction, if there is one to do. Those that read what is damaged
// come last, and only when it is time to try again. A backup that nobody has written to stays as it
// is.
func (p picker) pick(v *manifest.Version) (plan, bool) {
	if v.IsBackup() {
		return plan{}, false
	}
	next, ok := p.choose(v)
	if ok || len(p.damaged) == 0 {
		return next, ok
	}
	p.damaged = p.damaged.resting(p.now)
	return p.choose(v)
}

// choose is pick among the compactions that read nothing damaged.
func (p picker) choose(v *manifest.Version) (plan, bool) {
	choices := []func(*manifest.Version) (plan, bool){
		p.covered, p.grown, p.burdened, p.shadowed, p.crowded, p.reclaimBusy, p.stale,
	}
	if p.idle {
		choices = append(choices, p.deferred, p.tidy, p.dropped, p.crumbs, p.scattered, p.reclaimIdle)
	}
	for _, choose := range choices {
		if next, ok := choose(v); ok && !p.avoids(next, v) {
			return next, true
		}
	}
	return plan{}, false
}

// covered picks the bottom tables of which newer range deletions and dropped buckets leave nothing.
func (p picker) covered(v *manifest.Version) (plan, bool) {
	next := plan{why: "deleted", toBottom: true, clear: true}
	for _, t := range v.Bottom.Tables {
		if deletesAll(v, t) || withinDropped(v, t) {
			next.bottom = append(next.bottom, t.Number)
		}
	}
	return next, len(next.bottom) > 0
}

// deletesAll reports whether young runs delete all keys from t's first to its last as ranges. It is
// quick unless many ranges join there.
func deletesAll(v *manifest.Version, t *manifest.Table) bool {
	key := t.Smallest // the first that is not known to be deleted
	for inside := true; inside; {
		inside = false
		for _, r := range v.Young {
			i, deleted := r.Deleted.Find(key)
			if !deleted {
				continue
			}
			end := r.Deleted[i].End
			if end == nil || bytes.Compare(t.Largest, end) < 0 {
				return true
			}
			key, inside = end, true
		}
	}
	return false
}

// grown picks all young runs once they are as large as the bottom run.
func (p picker) grown(v *manifest.Version) (plan, bool) {
	if len(v.Young) < p.youngRuns || youngBytes(v) < v.Bottom.Bytes() {
		return plan{}, false
	}
	return intoBottom("grown", v), true
}

// burdened picks all young runs once they delete too many ranges, which only the bottom run can do
// without.
func (p picker) burdened(v *manifest.Version) (plan, bool) {
	if youngSpans(v) <= tooManySpans {
		return plan{}, false
	}
	return intoBottom("ranges", v), true
}

// shadowed picks all young runs when many of the values are theirs: compacting finds the older
// values of the same keys, which are garbage, and costs little where values are large.
func (p picker) shadowed(v *manifest.Version) (plan, bool) {
	var young, all uint64
	for i, r := range append(slices.Clone(v.Young), v.Bottom) {
		for _, t := range r.Tables {
			for _, share := range t.Values {
				all += share.Bytes
				if i < len(v.Young) {
					young += share.Bytes
				}
			}
		}
	}
	if young < p.garbage || young < (all-young)/valueShare || young == all {
		return plan{}, false
	}
	next := intoBottom("shadowed", v)
	return next, next.bytes(v) <= young/valueShare
}

// crowded picks neighbours among too many young runs, or all of them and the bottom run, whichever
// saves a run at the least cost. When damage leaves no youngRuns neighbours to compact, fewer have
// to do once there are twice as many runs.
func (p picker) crowded(v *manifest.Version) (plan, bool) {
	n := len(v.Young)
	if n < tooMany*p.youngRuns || n < 2 {
		return plan{}, false
	}
	next := intoBottom("crowded", v)
	least := float64(next.cost(v)) / float64(n)
	if p.avoids(next, v) {
		least = math.Inf(1)
	}
	for _, fewest := range []int{p.youngRuns, 2} {
		for _, s := range p.segments(v) {
			young, cost := cheapest(s.runs, fewest)
			if young.Older += s.older; cost < least {
				least = cost
				next = plan{why: "crowded", young: young}
			}
		}
		if !math.IsInf(least, 1) || n <= 2*tooMany*p.youngRuns {
			break
		}
	}
	return next, !math.IsInf(least, 1)
}

// stale picks a bottom table of which a good part has expired.
func (p picker) stale(v *manifest.Version) (plan, bool) {
	for _, t := range v.Bottom.Tables {
		if t.StaleAt != 0 && t.StaleAt <= p.now && !p.damaged.has(t.Number) {
			return plan{why: "expired", bottom: []uint64{t.Number}, toBottom: true}, true
		}
	}
	return plan{}, false
}

// dropped picks a bottom table that holds data of dropped buckets.
func (p picker) dropped(v *manifest.Version) (plan, bool) {
	for _, t := range v.Bottom.Tables {
		if v.MayHoldDropped(t) && !p.damaged.has(t.Number) {
			return plan{why: "dropped", bottom: []uint64{t.Number}, toBottom: true}, true
		}
	}
	return plan{}, false
}

// intoBottom returns the compaction of all young runs into the bottom run.
func intoBottom(why string, v *manifest.Version) plan {
	next := plan{why: why, young: manifest.YoungRuns{Count: len(v.Young)}, toBottom: true}
	for _, t := range v.Bottom.Tables {
		if overlapped(v, t) {
			next.bottom = append(next.bottom, t.Number)
		}
	}
	return next
}

func youngBytes(v *manifest.Version) (n uint64) {
	for _, r := range v.Young {
		n += r.Bytes()
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

// withinDropped reports whether all of t belongs to buckets that were dropped after it was written.
func withinDropped(v *manifest.Version, t *manifest.Table) bool {
	for span := range v.DroppedIn(t) {
		if span.Contains(t.Smallest) && span.Contains(t.Largest) {
			return true
		}
	}
	return false
}
