package manifest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Version is the set of live files at one moment. It is immutable: [Version.Apply] makes a new one.
type Version struct {
	Young  []Run // runs that were flushed and not compacted yet, newest first; none is empty
	Bottom Run   // older than all of Young

	ValueFiles   []ValueFile  // those that tables point into, by number
	Dictionaries []Dictionary // those that tables refer to, by number

	LogNumber  uint64 // log segments below it are not needed
	LastCommit uint64 // the newest commit that is in tables
	NextNumber uint64 // no file has this number or a higher one

	Dropped   []Drop // buckets that tables may hold garbage of, by id; none overlap
	DropEpoch uint64 // the newest epoch in which buckets were dropped

	// Branch is the same in two states of one database only if one of them has become the other: a
	// copy that goes its own way has another. 0 is none.
	Branch uint64

	// Backup is whether this is a backup that nobody has written to. Any edit ends it.
	Backup bool
}

// untaggedBackup reports whether v is a backup if its manifest does not say: backups were once told
// by these numbers, and what was not a backup never had them.
func (v *Version) untaggedBackup() bool { return v.LogNumber == v.NextNumber && v.LogNumber > 0 }

// empty reports whether v has no files.
func (v *Version) empty() bool {
	for range v.Tables() {
		return false
	}
	return len(v.ValueFiles) == 0
}

// Tables returns all tables, those of the youngest run first.
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

// IsDropped reports whether the bucket was dropped and tables may still hold something of it.
func (v *Version) IsDropped(id uint64) bool { return isDropped(v.Dropped, id) }

// maxNumber bounds numbers that are counted on from: no database comes near it, and behind it is
// room for all that follow.
const maxNumber = 1 << 62

// check returns an error if v is not a version that could have been made.
func (v *Version) check() error {
	if most := max(v.LogNumber, v.LastCommit, v.NextNumber, v.DropEpoch); most > maxNumber {
		return fmt.Errorf("%d is no number of a file, a commit or an epoch", most)
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
		return errors.New("the bottom run deletes ranges, though nothing is below it")
	}
	var numbers []uint64
	for t := range v.Tables() {
		if t.DropEpoch > v.DropEpoch {
			return fmt.Errorf("table %06d is of epoch %d, after %d", t.Number, t.DropEpoch, v.DropEpoch)
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
	return v.checkDrops()
}

func (v *Version) checkDrops() error {
	for i, d := range v.Dropped {
		if d.First > d.Last || d.Epoch > v.DropEpoch || i > 0 && d.First <= v.Dropped[i-1].Last {
			return fmt.Errorf("dropped buckets %d to %d are out of order", d.First, d.Last)
		}
	}
	return nil
}
