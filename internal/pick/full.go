package pick

import (
	"cmp"

	"github.com/stoatdb/stoat/internal/manifest"
)

// fullGarbage of a value file, as a divisor, is reason enough for a full compaction to rewrite it.
const fullGarbage = 20

// whyJoin is the reason of a compaction that joins small tables.
const whyJoin = "join"

// Full picks the steps of a full compaction, one after the other: all of the young runs that are
// there at first, in parts, then what is garbage, then the values that are not in the order of
// their keys, then tables that are too small. It reads damaged files, too, so that its caller
// learns of them. Not safe for concurrent use.
type Full struct {
	picker Picker
	last   Plan
	before *manifest.Version // of the last step; nil at first
	// ordered and joined are the numbers of bottom tables that need no more work: those whose
	// values were all brought into order, and those that were made of small ones.
	ordered, joined map[uint64]bool
}

// NewFull returns the steps of one full compaction.
func NewFull(p Picker) *Full {
	p.Damaged = nil
	return &Full{picker: p, ordered: make(map[uint64]bool), joined: make(map[uint64]bool)}
}

// Next returns the next step. v is the version that the step before has left.
func (f *Full) Next(v *manifest.Version) (Plan, bool) {
	if f.before != nil {
		f.note(v)
	}
	next, ok := f.pick(v)
	next.Why, next.Tight = cmp.Or(next.Why, "compact"), true
	f.last, f.before = next, v
	return next, ok
}

func (f *Full) pick(v *manifest.Version) (Plan, bool) {
	if next, ok := f.down(v); ok {
		return next, true
	}
	garbage := []reason{
		{"covered", Picker.covered}, {"dropped", Picker.dropped}, {"stale", Picker.stale},
	}
	if next, ok := f.picker.first(v, garbage); ok {
		return next, true
	}
	next := inOrder(v, func(file manifest.ValueFile) bool {
		return file.Log || file.Garbage() > file.Size/fullGarbage
	}, func(t *manifest.Table) bool { return f.ordered[t.Number] }, f.picker.step(v))
	if len(next.Bottom) > 0 {
		return next, true
	}
	small := f.picker.stretches(v, func(number uint64) bool { return f.joined[number] })
	if len(small) > 0 {
		next := rewrite(small[0]...)
		next.Why = whyJoin
		return next, true
	}
	return Plan{}, false
}

// down picks the next part of the young runs that were there at first. What is flushed from then on
// can wait. A front of earlier times goes on only if nothing is newer: otherwise all that it has
// would be written twice.
func (f *Full) down(v *manifest.Version) (Plan, bool) {
	front, begun := v.Front()
	switch {
	case begun && (f.before != nil || front.At == 0):
		return f.picker.part(goOn(v, front), v), true
	case f.before == nil && len(v.Young) > 0:
		return f.picker.part(IntoBottom(v), v), true
	}
	return Plan{}, false
}

// note remembers the tables that the last step has made.
func (f *Full) note(after *manifest.Version) {
	joins := f.last.Why == whyJoin
	if !joins && len(f.last.Relocate) == 0 {
		return
	}
	old := f.before.TableNumbers()
	for _, t := range after.Bottom.Tables {
		if !old[t.Number] {
			f.ordered[t.Number] = bytesIn(t, f.last.Relocate) == 0
			f.joined[t.Number] = f.joined[t.Number] || joins
		}
	}
}
