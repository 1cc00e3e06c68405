package manifest

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Drop is a range of dropped buckets of which tables may still hold entries. Each edit that drops
// buckets starts an epoch: a table holds nothing of buckets dropped up to its own epoch.
type Drop struct {
	First, Last uint64 // ids, both included
	Epoch       uint64 // in which they were dropped
}

// addDrops returns drops with the ids added as dropped in the epoch. Ids already in drops keep
// their epoch: nothing is written to a dropped bucket, so newer tables hold nothing of it.
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

// needed returns the drops of which some table of v may hold entries.
func (v *Version) needed(drops []Drop) []Drop {
	held := make([]bool, len(drops))
	for t := range v.Tables() {
		for i := range t.dropped(drops) {
			held[i] = true
		}
	}
	var kept []Drop
	for i, d := range drops {
		if held[i] {
			kept = append(kept, d)
		}
	}
	return kept
}

// MayHoldDropped reports whether t may hold entries of a bucket dropped after t was written.
func (v *Version) MayHoldDropped(t *Table) bool {
	for range v.DroppedIn(t) {
		return true
	}
	return false
}

// DroppedIn yields the spans in which t may hold entries of buckets dropped after t was written, in
// no order. It takes no time for buckets outside the key range of t.
func (v *Version) DroppedIn(t *Table) iter.Seq[keyspace.Span] {
	return func(yield func(keyspace.Span) bool) {
		for _, span := range t.dropped(v.Dropped) {
			if !yield(span) {
				return
			}
		}
	}
}

// dropped is DroppedIn for the given drops, which are sorted. It also yields the index of each.
func (t *Table) dropped(drops []Drop) iter.Seq2[int, keyspace.Span] {
	return func(yield func(int, keyspace.Span) bool) {
		var key []byte
		for _, appendPrefix := range keyspace.Prefixes() {
			first := sort.Search(len(drops), func(i int) bool {
				key = appendPrefix(key[:0], drops[i].Last)
				return bytes.Compare(t.Smallest[:min(len(t.Smallest), len(key))], key) <= 0
			})
			for i, d := range drops[first:] {
				key = appendPrefix(key[:0], d.First)
				if bytes.Compare(t.Largest, key) < 0 {
					break
				}
				if t.DropEpoch >= d.Epoch {
					continue
				}
				end := keyspace.Successor(appendPrefix(nil, d.Last))
				if !yield(first+i, keyspace.Span{Start: bytes.Clone(key), End: end}) {
					return
				}
			}
		}
	}
}
