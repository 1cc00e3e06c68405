package model

import (
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Cut returns the facts that are left of logs which fork proofs cut, by the number of the first
// entry that does not count. What contexts name behind a cut is replaced by the last entry before.
func Cut(facts []Fact, cuts map[entry.Hash]uint64) []Fact {
	var left []Fact
	for _, f := range facts {
		if cut, ok := cuts[f.Log]; ok && f.Seq >= cut {
			continue
		}
		e := *f.Entry
		e.Context = slices.Clone(e.Context)
		for i := range e.Context {
			if cut, ok := cuts[e.Context[i].Log]; ok && e.Context[i].Seq >= cut {
				e.Context[i].Seq = cut - 1
			}
		}
		f.Entry = &e
		left = append(left, f)
	}
	return left
}
