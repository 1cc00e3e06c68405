package model

import (
	"bytes"
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

// Once returns the facts without those parts that count elsewhere: in the origin of their entry, or
// in another entry with the same origin and a lesser time or log.
func Once(counting []Fact) []Fact {
	var left []Fact
	for _, f := range counting {
		e := *f.Entry
		if e.Origin != nil {
			e.Parts = slices.DeleteFunc(slices.Clone(e.Parts), func(p entry.Part) bool {
				return slices.ContainsFunc(counting, func(other Fact) bool {
					return precedes(&other, &f) && hasPart(other.Entry, &p)
				})
			})
		}
		f.Entry = &e
		left = append(left, f)
	}
	return left
}

// precedes reports whether what f repeats is first of all in other.
func precedes(other, f *Fact) bool {
	origin := f.Entry.Origin
	if (entry.Head{Log: other.Log, Seq: other.Seq}) == origin.Head {
		return other.Hash == origin.Hash
	}
	if other.Entry.Origin == nil || *other.Entry.Origin != *origin {
		return false
	}
	if other.Entry.Time != f.Entry.Time {
		return other.Entry.Time < f.Entry.Time
	}
	return bytes.Compare(other.Log[:], f.Log[:]) < 0
}

// hasPart reports whether an entry has a part.
func hasPart(e *entry.Entry, p *entry.Part) bool {
	return slices.ContainsFunc(e.Parts, func(q entry.Part) bool {
		return q.Group == p.Group && bytes.Equal(q.Data, p.Data)
	})
}
