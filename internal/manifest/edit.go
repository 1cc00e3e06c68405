package manifest

import (
	"bytes"
	"fmt"
	"slices"
)

// Edit is a change of the version: what a job has done.
type Edit struct {
	// RemoveYoung is young runs to remove, and AddYoung runs in their place, newest first. If none
	// are removed, those added are younger than all others.
	RemoveYoung YoungRuns
	AddYoung    []Run

	AddBottom []*Table    // tables of the bottom run, in any order
	Remove    []uint64    // numbers of tables in the bottom run
	AddValues []ValueFile // files that the added tables point into and that may be new

	AddDictionaries []Dictionary // that the added tables refer to and that may be new

	LogNumber  uint64 // log segments below it are no longer needed; 0 = as before
	LastCommit uint64 // the newest commit in tables; 0 = as before
	NextNumber uint64 // no file has this number or a higher one; 0 = as before

	Drop []uint64 // ids of buckets whose keys are garbage from now on; starts an epoch
}

// YoungRuns is some young runs that follow each other in age. They are counted from the oldest one
// up, so that runs flushed meanwhile change nothing.
type YoungRuns struct {
	Older int // so many runs are older than they are
	Count int
}

// Of returns the runs of v that are meant, newest first, and their index in v.Young.
func (y YoungRuns) Of(v *Version) (runs []Run, at int, err error) {
	end := len(v.Young) - y.Older
	if y.Older < 0 || y.Count < 0 || y.Count > end {
		return nil, 0, fmt.Errorf("%d runs above %d are not among %d", y.Count, y.Older, len(v.Young))
	}
	at = end - y.Count
	return v.Young[at:end], at, nil
}

// Apply returns the version after the edit and leaves v as it is. A table may be removed and added
// again, which moves it. An edit that does not fit v, or would leave an invalid version, is an
// error.
func (v *Version) Apply(e *Edit) (*Version, error) {
	young, err := v.changeYoung(e)
	if err != nil {
		return nil, err
	}
	bottom, err := v.removeBottom(e.Remove)
	if err != nil {
		return nil, err
	}
	if len(e.AddBottom) > 0 {
		bottom.Tables = append(slices.Clip(bottom.Tables), e.AddBottom...)
		slices.SortFunc(bottom.Tables, func(a, b *Table) int {
			return bytes.Compare(a.Smallest, b.Smallest)
		})
	}
	next := &Version{
		Young: young, Bottom: bottom,
		LogNumber: v.LogNumber, LastCommit: v.LastCommit, NextNumber: v.NextNumber,
		Dropped: v.Dropped, DropEpoch: v.DropEpoch, Branch: v.Branch,
	}
	if err := next.advance(e); err != nil {
		return nil, err
	}
	if len(e.Drop) > 0 {
		next.DropEpoch++
		next.Dropped = addDrops(v.Dropped, e.Drop, next.DropEpoch)
	}
	next.ValueFiles, err = next.withValues(v.mergeValues(e.AddValues))
	if err != nil {
		return nil, err
	}
	next.Dictionaries, err = next.withDictionaries(
		slices.Concat(v.Dictionaries, e.AddDictionaries))
	if err != nil {
		return nil, err
	}
	if err := next.check(); err != nil {
		return nil, err
	}
	next.Dropped = next.needed(next.Dropped)
	return next, nil
}

// advance takes over the edit's numbers, none of which may go back.
func (v *Version) advance(e *Edit) error {
	for _, n := range [...]struct {
		what string
		now  *uint64
		next uint64
	}{
		{"log number", &v.LogNumber, e.LogNumber},
		{"last commit", &v.LastCommit, e.LastCommit},
		{"next number", &v.NextNumber, e.NextNumber},
	} {
		if n.next == 0 {
			continue
		}
		if n.next < *n.now {
			return fmt.Errorf("%s goes back from %d to %d", n.what, *n.now, n.next)
		}
		*n.now = n.next
	}
	return nil
}

// changeYoung returns the young runs after the edit.
func (v *Version) changeYoung(e *Edit) ([]Run, error) {
	removed, at, err := e.RemoveYoung.Of(v)
	if err != nil {
		return nil, err
	}
	if len(removed) == 0 {
		at = 0
	}
	return slices.Replace(slices.Clone(v.Young), at, at+len(removed), e.AddYoung...), nil
}

// removeBottom returns the bottom run, which stays as it is, without the tables of these numbers.
func (v *Version) removeBottom(numbers []uint64) (Run, error) {
	gone := make(map[uint64]bool, len(numbers))
	for _, n := range numbers {
		gone[n] = true
	}
	kept := slices.DeleteFunc(slices.Clone(v.Bottom.Tables), func(t *Table) bool {
		return gone[t.Number]
	})
	if removed := len(v.Bottom.Tables) - len(kept); removed != len(numbers) {
		return Run{}, fmt.Errorf("%d of %d tables to remove are in the bottom run",
			removed, len(numbers))
	}
	return Run{Tables: kept}, nil
}

// mergeValues returns the value files of v and those of added that v has not. One may be added more
// than once, as long as nothing else is said of it.
func (v *Version) mergeValues(added []ValueFile) []ValueFile {
	files := slices.Clone(v.ValueFiles)
	for _, f := range added {
		if _, ok := v.ValueFile(f.Number); !ok && !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	return files
}
