package pick

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/manifest"
)

const (
	// fewCrumbs is how many neighbours that are too small are worth a compaction, and manyCrumbs
	// how many are looked at together.
	fewCrumbs  = 4
	manyCrumbs = 64
)

// covered picks the bottom tables of which newer range deletions and dropped buckets leave nothing.
func (p Picker) covered(v *manifest.Version) (Plan, bool) {
	next := Plan{ToBottom: true, Unread: true}
	for _, t := range v.Bottom.Tables {
		if deletesAll(v, t) || withinDropped(v, t) {
			next.Bottom = append(next.Bottom, t.Number)
		}
	}
	return next, len(next.Bottom) > 0
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

// withinDropped reports whether all of t belongs to buckets that were dropped after it was written.
func withinDropped(v *manifest.Version, t *manifest.Table) bool {
	for span := range v.DroppedIn(t) {
		if t.Within(span) {
			return true
		}
	}
	return false
}

// stale picks a bottom table of which a good part has expired.
func (p Picker) stale(v *manifest.Version) (Plan, bool) {
	return p.alone(v, func(t *manifest.Table) bool {
		return t.StaleAt != 0 && t.StaleAt <= p.Now
	})
}

// dropped picks a bottom table that holds data of dropped buckets.
func (p Picker) dropped(v *manifest.Version) (Plan, bool) {
	return p.alone(v, v.MayHoldDropped)
}

// alone picks the first bottom table worth rewriting by itself.
func (p Picker) alone(v *manifest.Version, worth func(*manifest.Table) bool) (Plan, bool) {
	for _, t := range v.Bottom.Tables {
		if worth(t) && !p.avoidsTable(t) {
			return rewrite(t), true
		}
	}
	return Plan{}, false
}

// crumbs picks neighbours among the bottom tables that are too small to stay, and of which none is
// larger than the others together. Otherwise the joined table would be rewritten for every small
// one that comes.
func (p Picker) crumbs(v *manifest.Version) (Plan, bool) {
	for _, stretch := range p.stretches(v, p.Damaged.Has) {
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
				return rewrite(stretch[:count]...), true
			}
			stretch = stretch[1:]
		}
	}
	return Plan{}, false
}

// stretches returns the neighbours among the bottom tables that are too small to stay and could be
// one table, without those to skip, by number.
func (p Picker) stretches(
	v *manifest.Version, skip func(number uint64) bool,
) (all [][]*manifest.Table) {
	tables := v.Bottom.Tables
	for start, end := 0, 0; start < len(tables); start = max(end, start+1) {
		catalog := tables[start].IsCatalog()
		for end = start; end < len(tables) && tables[end].Size < p.SmallTable &&
			tables[end].IsCatalog() == catalog && !skip(tables[end].Number); end++ {
		}
		if end-start > 1 {
			all = append(all, tables[start:end])
		}
	}
	return all
}
