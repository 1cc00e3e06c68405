package folder

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/internal/vfs"
)

// Listing is what a folder holds. It is immutable.
type Listing struct {
	numbers    [kinds][]uint64 // by kind, ascending
	Other      string          // a name that is not of a database, "" if there is none
	Unfinished bool            // the mark of an unfinished backup is there
	Key        string          // the file of a wrapped key, "" if there is none
	Claim      string          // a file with a claim, "" if there is none
	Highest    uint64          // the highest number of a file, 0 if there is none
}

// List lists the folder dir.
func List(files vfs.ReadOnly, dir string) (Listing, error) {
	names, err := files.List(dir)
	if err != nil {
		return Listing{}, fmt.Errorf("list %s: %w", dir, err)
	}
	return Classify(names), nil
}

// Classify returns the listing of a folder that holds files with the given names.
func Classify(names []string) (l Listing) {
	for _, name := range names {
		kind, number := Parse(name)
		_, isKey := ParseKey(name)
		switch {
		case isKey:
			l.Key = name
		case kind != Other:
			l.numbers[kind] = append(l.numbers[kind], number)
			l.Highest = max(l.Highest, number)
		case name == UnfinishedName:
			l.Unfinished = true
		case strings.HasPrefix(name, ClaimPrefix):
			l.Claim = name
		case name != LockName && name != CacheName:
			l.Other = name
		}
	}
	for _, numbers := range l.numbers {
		slices.Sort(numbers)
	}
	return l
}

// Of returns the numbers of all files of a kind, ascending.
func (l Listing) Of(kind Kind) []uint64 { return l.numbers[kind] }

// Newest returns the highest number of a file of a kind, 0 if there is none.
func (l Listing) Newest(kind Kind) uint64 {
	if numbers := l.numbers[kind]; len(numbers) > 0 {
		return numbers[len(numbers)-1]
	}
	return 0
}

// Has reports whether the folder holds a file.
func (l Listing) Has(kind Kind, number uint64) bool {
	_, found := slices.BinarySearch(l.numbers[kind], number)
	return found
}

// All returns all numbered files, by kind and number.
func (l Listing) All() iter.Seq2[Kind, uint64] {
	return func(yield func(Kind, uint64) bool) {
		for kind, numbers := range l.numbers {
			for _, number := range numbers {
				if !yield(Kind(kind), number) {
					return
				}
			}
		}
	}
}

// Equal reports whether two folders hold the same numbered files.
func (l Listing) Equal(m Listing) bool {
	for kind := range l.numbers {
		if !slices.Equal(l.numbers[kind], m.numbers[kind]) {
			return false
		}
	}
	return true
}
