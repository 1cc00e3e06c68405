// Package pick decides which compaction is next: of young runs with each other or into the bottom
// run, of tables that hold much garbage or are too small, and of value files.
//
// A [Picker] is a pure function of a manifest version, the time, the limits and the known damage.
// It reads no files and takes no locks. Looking at a version costs time in proportion to its
// tables, so callers hold no lock that others wait for.
//
// docs/design/compaction-picking.md says what each reason to compact is worth.
package pick

import (
	"github.com/stoatdb/stoat/internal/manifest"
)

// Limits are the sizes by which compactions are picked.
type Limits struct {
	YoungRuns  int    // this many young runs are worth a compaction
	Garbage    uint64 // bytes of garbage in value files that do not matter
	SmallTable uint64 // a table of the bottom run with fewer bytes is too small to stay
	Compressed bool   // large values are compressed
	Deferred   uint64 // deferred values are compressed at once if that reads no more bytes
	YoungBytes uint64 // young runs of more are not compacted with each other; 0: any are
	PartBytes  uint64 // young runs go into the bottom run in parts of about this size; 0: at once
	ValueBytes uint64 // values are rewritten in steps of at least this size
}

// tooMany, times Limits.YoungRuns, young runs are compacted at any cost.
const tooMany = 3

// CrowdedRuns returns how many young runs are compacted at any cost.
func (l Limits) CrowdedRuns() int { return tooMany * l.YoungRuns }

// Picker picks compactions. Immutable.
type Picker struct {
	Limits
	Now     uint64 // milliseconds since 1970
	Damaged Damaged
	Begun   string // why the compaction before was picked: some are done in steps
}

// Next returns the most urgent compaction, if any. A backup that has not been written to stays as
// it is.
func (p Picker) Next(v *manifest.Version) (Plan, bool) {
	if v.Backup {
		return Plan{}, false
	}
	if next, ok := p.first(v, urgent()); ok {
		return next, true
	}
	next, ok := p.first(v, tidying())
	next.Idle = ok
	return next, ok
}

// reason is a reason to compact, with the function that picks a compaction if it applies.
type reason struct {
	why  string
	pick func(p Picker, v *manifest.Version) (Plan, bool)
}

// urgent returns the reasons that do not wait for a pause in the commits, the most urgent first.
func urgent() []reason {
	return []reason{
		{"covered", Picker.covered},
		{"begun", Picker.begun},
		{"grown", Picker.grown},
		{"crowded", Picker.crowded},
		// What its steps leave behind is garbage, which reclaim would not bring into order.
		{whyScattered, Picker.scatteredOn},
		{whyReclaim, reclaim(garbageBusy)},
		{"stale", Picker.stale},
	}
}

// tidying returns the reasons that wait for a pause in the commits, the most urgent first.
func tidying() []reason {
	return []reason{
		{"deferred", Picker.deferred},
		{"tidy", Picker.tidy},
		{"dropped", Picker.dropped},
		{"crumbs", Picker.crumbs},
		{whyScattered, Picker.scattered},
		{whyReclaim, reclaim(garbageIdle)},
	}
}

// first returns the compaction picked by the first reason that applies. Compactions that read
// damaged files come last, and only when it is time to retry them.
func (p Picker) first(v *manifest.Version, reasons []reason) (Plan, bool) {
	for {
		for _, r := range reasons {
			// What would meet damage further on does not begin: its front would never be complete.
			if next, ok := r.pick(p, v); ok && !p.Avoids(next, v) {
				next.Why = r.why
				return p.part(next, v), true
			}
		}
		resting := p.Damaged.Resting(p.Now)
		if len(resting) == len(p.Damaged) {
			return Plan{}, false
		}
		p.Damaged = resting
	}
}

// Again returns when Next may pick more than now for the same version, in milliseconds since 1970:
// when a table becomes stale, or a damaged file is due to be retried. It is 0 if neither happens.
func (p Picker) Again(v *manifest.Version) (at uint64) {
	earlier := func(due uint64) {
		if due > p.Now && (at == 0 || due < at) {
			at = due
		}
	}
	for t := range v.Tables() {
		earlier(t.StaleAt)
	}
	for _, due := range p.Damaged {
		earlier(due)
	}
	return at
}
