package manifest

import (
	"fmt"
	"slices"
)

// Edit is a change of the version: the result of a job.
type Edit struct {
	// RemoveYoung is the young runs to remove. AddYoung is runs that replace them, newest first; if
	// none are removed, the added runs are younger than all others.
	RemoveYoung YoungRuns
	AddYoung    []Run

	AddBottom []*Table    // tables for the bottom run, in any order
	Remove    []uint64    // numbers of tables in the bottom run
	AddValues []ValueFile // that the added tables point into; need not be new

	AddDictionaries []Dictionary // that the added tables refer to; need not be new

	LogNumber  uint64 // log segments below it are no longer needed; 0: unchanged
	LastCommit uint64 // the newest commit in tables; 0: unchanged
	NextNumber uint64 // above the numbers of all files; 0: unchanged

	Drop []uint64 // ids of buckets whose keys become garbage; starts an epoch

	// DropEpoch, unless it is 0, and Dropped replace those of the version. An edit with them has no
	// Drop.
	DropEpoch uint64
	Dropped   []Drop
}

// YoungRuns is a range of young runs. It counts from the oldest, so it stays valid when more runs
// are flushed.
type YoungRuns struct {
	Older int // how many young runs are older
	Count int
}

// Of returns these runs of v, newest first, and their index in v.Young.
func (y YoungRuns) Of(v *Version) (runs []Run, at int, err error) {
	end := len(v.Young) - y.Older
	if y.Older < 0 || y.Count < 0 || y.Count > end {
		return nil, 0, fmt.Errorf("%d runs above %d are not among %d", y.Count, y.Older, len(v.Young))
	}
	at = end - y.Count
	return v.Young[at:end], at, nil
}

// Apply returns the version after the edit. It does not change v. Removing and adding a table in
// one edit moves it. Apply returns an error if the edit does not fit v or would make it invalid.
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
		SortTables(bottom.Tables)
	}
	next := &Version{
		Young: young, Bottom: bottom,
		LogNumber: v.LogNumber, LastCommit: v.LastCommit, NextNumber: v.NextNumber,
		Dropped: v.Dropped, DropEpoch: v.DropEpoch, Branch: v.Branch,
	}
	if err := next.advance(e); err != nil {
		return nil, err
	}
	if err := next.drop(e); err != nil {
		return nil, err
	}
	next.ValueFiles, err = next.withValues(v.joinValues(e.AddValues))
	if err != nil {
		return nil, err
	}
	next.Dictionaries, err = next.withDictionaries(slices.Concat(v.Dictionaries, e.AddDictionaries))
	if err != nil {
		return nil, err
	}
	if err := next.Verify(); err != nil {
		return nil, err
	}
	next.Dropped = next.needed(next.Dropped)
	return next, nil
}

// advance sets the edit's numbers, none of which may decrease.
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

// drop applies what the edit says of dropped buckets.
func (v *Version) drop(e *Edit) error {
	switch {
	case e.DropEpoch == 0 && len(e.Dropped) == 0:
		if len(e.Drop) > 0 {
			v.DropEpoch++
			v.Dropped = addDrops(v.Dropped, e.Drop, v.DropEpoch)
		}
	case len(e.Drop) > 0 || e.DropEpoch <= v.DropEpoch:
		return fmt.Errorf("%d buckets are dropped, and %d ranges in epoch %d after %d", len(e.Drop),
			len(e.Dropped), e.DropEpoch, v.DropEpoch)
	default:
		v.DropEpoch, v.Dropped = e.DropEpoch, e.Dropped
	}
	return nil
}

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

// joinValues returns the value files of v, and the added ones that are not in v. A file may be
// added twice if both mentions are equal.
func (v *Version) joinValues(added []ValueFile) []ValueFile {
	files := slices.Clone(v.ValueFiles)
	for _, f := range added {
		if _, ok := v.ValueFile(f.Number); !ok && !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	return files
}
