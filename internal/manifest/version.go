package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Version is the set of live files at one moment. It is immutable: [Version.Apply] returns a new
// one.
type Version struct {
	Young  []Run // flushed and not yet compacted into Bottom, newest first; none is empty
	Bottom Run   // older than all of Young

	ValueFiles   []ValueFile  // that tables point into, by number
	Dictionaries []Dictionary // that tables refer to, by number

	LogNumber  uint64 // log segments below it are not needed
	LastCommit uint64 // the newest commit in tables
	NextNumber uint64 // above the numbers of all files

	Dropped   []Drop // buckets that tables may hold garbage of, by id; none overlap
	DropEpoch uint64 // the newest epoch in which buckets were dropped

	// Branch identifies one line of history. Two states of a database with the same branch are
	// earlier and later states of it; a copy that is written to separately gets another branch. 0
	// is no branch.
	Branch uint64

	// Backup says that this is a backup that was never written to. Any edit clears it.
	Backup bool
}

// untaggedBackup reports whether v is a backup if its manifest has no tag that says so: the numbers
// of untagged backups, and of no other untagged manifest, are equal.
func (v *Version) untaggedBackup() bool { return v.LogNumber == v.NextNumber && v.LogNumber > 0 }

func (v *Version) empty() bool {
	for range v.Tables() {
		return false
	}
	return len(v.ValueFiles) == 0
}

// Tables returns all tables, the youngest run first.
func (v *Version) Tables() iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for _, r := range v.Young {
			for _, t := range r.Tables {
				if !yield(t) {
					return
				}
			}
		}
		for _, t := range v.Bottom.Tables {
			if !yield(t) {
				return
			}
		}
	}
}

// TableNumbers returns the numbers of all tables.
func (v *Version) TableNumbers() map[uint64]bool {
	numbers := make(map[uint64]bool)
	for t := range v.Tables() {
		numbers[t.Number] = true
	}
	return numbers
}

// IsDropped reports whether the bucket was dropped and tables may still hold entries of it.
func (v *Version) IsDropped(id uint64) bool { return isDropped(v.Dropped, id) }

// maxNumber limits counters read from a file. No database comes near it, and it leaves room to
// count on.
const maxNumber = 1 << 62

// Equal reports whether two versions are the same.
func (v *Version) Equal(w *Version) bool {
	return v == w || bytes.Equal(appendVersion(nil, v), appendVersion(nil, w))
}

// Verify returns an error if v is not a possible version, for example if tables of a run overlap.
func (v *Version) Verify() error {
	if most := max(v.LogNumber, v.LastCommit, v.NextNumber, v.DropEpoch); most > maxNumber {
		return fmt.Errorf("%d is too large for the number of a file, a commit or an epoch", most)
	}
	for _, r := range v.Young {
		if len(r.Tables)+len(r.Deleted) == 0 {
			return errors.New("a young run is empty")
		}
		if err := r.check(); err != nil {
			return err
		}
	}
	if err := v.Bottom.check(); err != nil {
		return err
	}
	if len(v.Bottom.Deleted) > 0 {
		return errors.New("the bottom run has range deletions, but nothing is below it")
	}
	var numbers []uint64
	for t := range v.Tables() {
		if t.DropEpoch > v.DropEpoch {
			return fmt.Errorf("table %06d has epoch %d, above %d", t.Number, t.DropEpoch, v.DropEpoch)
		}
		numbers = append(numbers, t.Number)
	}
	for _, f := range v.ValueFiles {
		numbers = append(numbers, f.Number)
	}
	for _, d := range v.Dictionaries {
		numbers = append(numbers, d.Number)
	}
	slices.Sort(numbers)
	if len(slices.Compact(numbers)) < len(numbers) {
		return errors.New("two files or dictionaries have the same number")
	}
	for i, d := range v.Dropped {
		if d.First > d.Last || d.Epoch > v.DropEpoch || i > 0 && d.First <= v.Dropped[i-1].Last {
			return fmt.Errorf("dropped buckets %d to %d are out of order", d.First, d.Last)
		}
	}
	return nil
}
