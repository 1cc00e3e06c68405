package merge

import (
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Normalise forgets what only matters to entries that have not seen a checkpoint: the stamps that
// it covers, the values that lost, and of deleted records everything but sums. Behind it, a record
// has the zero stamp, which every entry has seen. It reports whether anything changed.
//
// Sums of deleted records stay, because an entry that stores the record again adds to what its
// author knew. All other fields are written in full then.
//
// A deleted record is cleared only if the checkpoint covers its deletion, which the caller knows.
func (r *Record) Normalise(covered func(Stamp) bool, cleared bool) (changed bool) {
	if slices.ContainsFunc(r.Alive, covered) {
		r.Alive = append([]Stamp{{}}, slices.DeleteFunc(r.Alive, covered)...)
		changed = true
	}
	if cleared && len(r.Alive) == 0 {
		n := len(r.Fields)
		r.Fields = slices.DeleteFunc(r.Fields, func(f Field) bool { return f.Kind != entry.OpSum })
		return changed || len(r.Fields) < n
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		if normalise(&f.Versions, covered, f.Kind == entry.OpKeep) {
			changed = true
		}
		for j := range f.Items {
			if normalise(&f.Items[j].Versions, covered, false) {
				changed = true
			}
		}
	}
	return changed
}

// normalise gives the covered versions the zero stamp. Only the winner stays, unless all are kept.
func normalise(versions *[]Version, covered func(Stamp) bool, keep bool) (changed bool) {
	all := *versions
	n := 0 // the covered ones come first
	for n < len(all) && (all[n].Stamp == Stamp{} || covered(all[n].Stamp)) {
		changed = changed || all[n].Stamp != Stamp{}
		all[n].Stamp = Stamp{}
		n++
	}
	if n > 1 && !keep {
		*versions, changed = all[n-1:], true
	}
	return changed
}
