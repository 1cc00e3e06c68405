package manifest

import (
	"bytes"
	"slices"
)

// EditTo returns an edit that makes next of v, whatever lies between the two, except for the branch
// and for whether it is a backup. It is nil if they name the same files and the same last commit:
// then at most their log number and their next number differ. Both counts of next must not be lower
// than those of v.
func (v *Version) EditTo(next *Version) *Edit {
	if v == next || v.sameFiles(next) {
		return nil
	}
	e := &Edit{LogNumber: next.LogNumber, LastCommit: next.LastCommit, NextNumber: next.NextNumber}
	v.editYoung(e, next)
	kept := map[uint64]*Table{}
	for _, t := range next.Bottom.Tables {
		kept[t.Number] = t
	}
	for _, t := range v.Bottom.Tables {
		if same := kept[t.Number]; same != nil && same.equal(t) {
			delete(kept, t.Number)
		} else {
			e.Remove = append(e.Remove, t.Number)
		}
	}
	for _, t := range next.Bottom.Tables {
		if kept[t.Number] != nil {
			e.AddBottom = append(e.AddBottom, t)
		}
	}
	for _, f := range next.ValueFiles {
		if _, ok := v.ValueFile(f.Number); !ok {
			e.AddValues = append(e.AddValues, f)
		}
	}
	for _, d := range next.Dictionaries {
		if _, ok := v.Dictionary(d.Number); !ok {
			e.AddDictionaries = append(e.AddDictionaries, d)
		}
	}
	if next.DropEpoch != v.DropEpoch {
		e.DropEpoch, e.Dropped = next.DropEpoch, next.Dropped
	}
	return e
}

// sameFiles reports whether two versions differ at most in what EditTo leaves alone.
func (v *Version) sameFiles(w *Version) bool {
	a, b := *v, *w
	for _, version := range []*Version{&a, &b} {
		version.LogNumber, version.NextNumber, version.Branch, version.Backup = 0, 0, 0, false
	}
	return a.Equal(&b)
}

// editYoung adds to e what replaces the young runs of v by those of next: all between the newest
// and the oldest ones that both have.
func (v *Version) editYoung(e *Edit, next *Version) {
	old, young := v.Young, next.Young
	older := 0
	for older < min(len(old), len(young)) &&
		old[len(old)-1-older].equal(young[len(young)-1-older]) {
		older++
	}
	old, young = old[:len(old)-older], young[:len(young)-older]
	newer := 0
	for newer < min(len(old), len(young)) && old[newer].equal(young[newer]) {
		newer++
	}
	if newer == len(old) && newer < len(young) {
		newer = 0 // runs that replace none would be the newest
	}
	e.RemoveYoung = YoungRuns{Older: older, Count: len(old) - newer}
	e.AddYoung = slices.Clip(young[newer:])
	if e.RemoveYoung.Count == 0 {
		e.RemoveYoung.Older = 0
	}
}

// equal reports whether two runs are the same.
func (r Run) equal(s Run) bool {
	if len(r.Deleted)+len(s.Deleted) == 0 && slices.Equal(r.Tables, s.Tables) {
		return true
	}
	return bytes.Equal(appendRuns(nil, []Run{r}), appendRuns(nil, []Run{s}))
}

// equal reports whether two tables are the same in every field.
func (t *Table) equal(u *Table) bool {
	return t == u || t.Number == u.Number &&
		bytes.Equal(appendTables(nil, []*Table{t}), appendTables(nil, []*Table{u}))
}
