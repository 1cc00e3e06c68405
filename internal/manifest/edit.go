package manifest

import (
	"bytes"
	"fmt"
	"slices"
)

// Edit is a change of the version: what a job has done.
type Edit struct {
	AddYoung  []*Table // a new run, younger than all others
	AddBottom []*Table // tables of the bottom run, in any order
	Remove    []uint64 // numbers of tables in any run

	LogNumber  uint64 // log segments below it are no longer needed; 0 = as before
	LastCommit uint64 // the newest commit in tables; 0 = as before
	NextNumber uint64 // no file has this number or a higher one; 0 = as before

	Drop []uint64 // ids of buckets whose keys are garbage from now on; starts an epoch
}

// Apply returns the version after the edit and leaves v as it is. A table may be removed and added
// again, which moves it. An edit that does not fit v, or would leave an invalid version, is an
// error.
func (v *Version) Apply(e *Edit) (*Version, error) {
	young, bottom, err := v.remove(e.Remove)
	if err != nil {
		return nil, err
	}
	if len(e.AddYoung) > 0 {
		young = slices.Insert(young, 0, Run{slices.Clone(e.AddYoung)})
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
		Dropped: v.Dropped, DropEpoch: v.DropEpoch,
	}
	if err := next.advance(e); err != nil {
		return nil, err
	}
	if len(e.Drop) > 0 {
		next.DropEpoch++
		next.Dropped = addDrops(v.Dropped, e.Drop, next.DropEpoch)
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

// remove returns the runs of v, which stay as they are, without the tables of these numbers. Runs
// left empty are left out.
func (v *Version) remove(numbers []uint64) (young []Run, bottom Run, err error) {
	if len(numbers) == 0 {
		return slices.Clone(v.Young), v.Bottom, nil
	}
	gone := make(map[uint64]bool, len(numbers))
	for _, n := range numbers {
		gone[n] = true
	}
	removed := 0
	without := func(r Run) Run {
		kept := slices.DeleteFunc(slices.Clone(r.Tables), func(t *Table) bool { return gone[t.Number] })
		removed += len(r.Tables) - len(kept)
		return Run{kept}
	}
	for _, r := range v.Young {
		if r = without(r); len(r.Tables) > 0 {
			young = append(young, r)
		}
	}
	bottom = without(v.Bottom)
	if removed != len(numbers) {
		return nil, Run{}, fmt.Errorf("%d of %d tables to remove are there", removed, len(numbers))
	}
	return young, bottom, nil
}
