package engine

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

const (
	// fewCrumbs is how many neighbours that are too small are worth a compaction, and manyCrumbs
	// how many are looked at together.
	fewCrumbs  = 4
	manyCrumbs = 64
	// cutBytes is what may be written to cut deleted ranges out of the bottom run. They come there
	// seldom: with a full memtable, or when they are large, or at the end of a long wait.
	cutBytes = 128 << 20
)

// tidy picks young runs while nobody waits: to compact them into the bottom run if that is small or
// they are not, if it is cheap, or if much of them is deletions or has expired, and else those of
// about the same size with each other.
func (p picker) tidy(v *manifest.Version) (plan, bool) {
	if len(v.Young) == 0 {
		return plan{}, false
	}
	next, young := intoBottom("tidy", v), youngBytes(v)
	worth := v.Bottom.Bytes() <= tidyBottom || young >= v.Bottom.Bytes()/tidyShare ||
		next.cost(v) <= cheapShare*young || deletesMuch(v) ||
		youngSpans(v) > 0 && next.cost(v) <= cutBytes
	for _, r := range v.Young {
		for _, t := range r.Tables {
			worth = worth || t.StaleAt != 0 && t.StaleAt <= p.now
		}
	}
	if worth && !p.avoids(next, v) {
		return next, true
	}
	for _, s := range p.segments(v) {
		if n := alike(s.runs); n > 0 {
			young := manifest.YoungRuns{Older: s.older + len(s.runs) - n, Count: n}
			return plan{why: "tidy", young: young}, true
		}
	}
	return plan{}, false
}

// deletesMuch reports whether young runs say of a good part of the bottom run that it is gone.
func deletesMuch(v *manifest.Version) bool {
	if youngSpans(v) > manySpans {
		return true
	}
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

// crumbs picks neighbours among the bottom tables that are too small to stay, and of which none is
// larger than the others together, so that what has been joined is not written again for every
// crumb that comes.
func (p picker) crumbs(v *manifest.Version) (plan, bool) {
	for _, stretch := range p.stretches(v, p.damaged.has) {
		for len(stretch) >= fewCrumbs {
			var all, largest uint64
			count := 0
			for i, t := range stretch[:min(len(stretch), manyCrumbs)] {
				all, largest = all+t.Size, max(largest, t.Size)
				if i+1 >= fewCrumbs && largest <= all-largest {
					count = i + 1
				}
			}
			if count > 0 {
				return joining("crumbs", stretch[:count]), true
			}
			stretch = stretch[1:]
		}
	}
	return plan{}, false
}

// stretches returns the neighbours among the bottom tables that are too small to stay and could be
// one table, without those to skip, by number.
func (p picker) stretches(
	v *manifest.Version, skip func(number uint64) bool,
) (all [][]*manifest.Table) {
	tables := v.Bottom.Tables
	for start, end := 0, 0; start < len(tables); start = max(end, start+1) {
		data := keyspace.IsData(tables[start].Smallest)
		for end = start; end < len(tables) && tables[end].Size < p.small &&
			keyspace.IsData(tables[end].Smallest) == data && !skip(tables[end].Number); end++ {
		}
		if end-start > 1 {
			all = append(all, tables[start:end])
		}
	}
	return all
}

// joining returns the compaction of neighbouring bottom tables into fewer.
func joining(why string, tables []*manifest.Table) plan {
	next := plan{why: why, toBottom: true}
	for _, t := range tables {
		next.bottom = append(next.bottom, t.Number)
	}
	return next
}
