package manifest

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Drop is a range of buckets that were dropped, and that tables may still hold something of.
// Dropping is done in epochs: a table holds nothing of what was dropped up to its own epoch.
type Drop struct {
	First, Last uint64 // ids, both included
	Epoch       uint64 // in which they were dropped
}

// addDrops returns drops with the ids added as dropped in the epoch. Ids that are in drops already
// keep their epoch: nothing is written to a dropped bucket, hence nothing of it is in newer tables.
func addDrops(drops []Drop, ids []uint64, epoch uint64) []Drop {
	all := slices.Clone(drops)
	var added *Drop
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if isDropped(drops, id) {
			continue
		}
		if added != nil && id == added.Last+1 {
			added.Last = id
			continue
		}
		all = append(all, Drop{id, id, epoch})
		added = &all[len(all)-1]
	}
	slices.SortFunc(all, func(a, b Drop) int { return cmp.Compare(a.First, b.First) })
	return all
}

// isDropped reports whether id is in one of the drops, which are sorted.
func isDropped(drops []Drop, id uint64) bool {
	i, _ := slices.BinarySearchFunc(drops, id, func(d Drop, id uint64) int {
		return cmp.Compare(d.Last, id)
	})
	return i < len(drops) && drops[i].First <= id
}

// needed returns those of the drops that some table of v may hold something of.
func (v *Version) needed(drops []Drop) []Drop {
	var kept []Drop
	for _, d := range drops {
		if v.mayHold(d) {
			kept = append(kept, d)
		}
	}
	return kept
}

func (v *Version) mayHold(d Drop) bool {
	ranges := keyspace.Ranges(d.First, d.Last)
	for t := range v.Tables() {
		if t.DropEpoch < d.Epoch && t.meets(ranges) {
			return true
		}
	}
	return false
}

// MayHoldDropped reports whether t may hold anything of a bucket that was dropped after it was
// written.
func (v *Version) MayHoldDropped(t *Table) bool {
	for _, d := range v.Dropped {
		if t.DropEpoch < d.Epoch && t.meets(keyspace.Ranges(d.First, d.Last)) {
			return true
		}
	}
	return false
}

// meets reports whether t may have keys in one of the ranges.
func (t *Table) meets(ranges [3][2][]byte) bool {
	for _, r := range ranges {
		if bytes.Compare(r[0], t.Largest) <= 0 && bytes.Compare(t.Smallest, r[1]) < 0 {
			return true
		}
	}
	return false
}
