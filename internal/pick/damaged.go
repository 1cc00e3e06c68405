package pick

import (
	"maps"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
)

// Damaged says in which files compactions have met damage, by number, and from when on they may be
// read again, in milliseconds since 1970. Immutable.
type Damaged map[uint64]uint64

// Has reports whether the file is damaged.
func (d Damaged) Has(number uint64) bool {
	_, found := d[number]
	return found
}

// Resting returns the files that may not be read yet.
func (d Damaged) Resting(now uint64) Damaged {
	resting := maps.Clone(d)
	maps.DeleteFunc(resting, func(_, due uint64) bool { return due <= now })
	return resting
}

// With returns the resting files and one more, which may not be read until due.
func (d Damaged) With(number, now, due uint64) Damaged {
	next := Damaged{number: due}
	for other, due := range d.Resting(now) {
		if other != number {
			next[other] = due
		}
	}
	return next
}

// Avoids reports whether p leaves a plan alone for now because it reads a damaged file.
func (p Picker) Avoids(next Plan, v *manifest.Version) bool {
	if len(p.Damaged) == 0 {
		return false
	}
	for _, t := range next.tables(v) {
		if p.avoidsTable(t) || next.OnlyTable > 0 && p.avoidsValues(t) {
			return true
		}
	}
	return slices.ContainsFunc(next.Relocate, p.Damaged.Has)
}

func (p Picker) avoidsTable(t *manifest.Table) bool { return p.Damaged.Has(t.Number) }

// avoidsValues reports whether p leaves the values alone that a table points to.
func (p Picker) avoidsValues(t *manifest.Table) bool {
	return slices.ContainsFunc(t.Values, func(s manifest.ValueShare) bool {
		return p.Damaged.Has(s.File)
	})
}

// segment is neighbouring young runs, newest first.
type segment struct {
	runs  []manifest.Run
	older int // how many young runs are older
}

// segments returns the young runs between those that p leaves alone.
func (p Picker) segments(v *manifest.Version) (all []segment) {
	avoids := func(r manifest.Run) bool { return slices.ContainsFunc(r.Tables, p.avoidsTable) }
	n := len(v.Young)
	for start, end := 0, 0; start < n; start = end + 1 {
		for end = start; end < n && !avoids(v.Young[end]); end++ {
		}
		if end > start {
			all = append(all, segment{v.Young[start:end], n - end})
		}
	}
	return all
}
