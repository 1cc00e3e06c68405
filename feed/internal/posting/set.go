// Package posting implements sets of numbers below 65,536: which entries in a chunk of a feed
// belong to an address.
//
// A Set is a list of numbers, or a bitmap where that takes less memory. It is stored in the
// smallest of three forms, which the first byte identifies:
//
//	1  gaps    for each number, how many are skipped before it, as a uvarint
//	2  bitmap  8,192 bytes: bit n%8 of byte n/8 says whether n is in the set
//	3  runs    for each run of numbers, how many are skipped before it, and how many follow its
//	           first number, both as uvarints
//
// Sets are immutable and safe for concurrent use. The package knows neither addresses nor where
// sets are stored.
package posting

import (
	"math/bits"
	"slices"
)

const (
	// Size is the number of possible members, 0 to Size-1.
	Size = 1 << 16

	wordCount = Size / 64
	listMax   = wordCount * 64 / 16 // maximum length of a list, which then is as large as a bitmap
)

// Set is a set of numbers below [Size]. The zero value is the empty set. It is immutable.
type Set struct {
	list  []uint16 // ascending; unused if words is set
	words *bitmap  // nil: list holds the numbers
	count int      // of numbers in words
}

// bitmap has a bit for each number.
type bitmap [wordCount]uint64

// Of returns the set of the numbers, which must be ascending. It retains the slice.
func Of(ascending []uint16) Set {
	if len(ascending) <= listMax {
		return Set{list: ascending}
	}
	return compact(Set{list: ascending}.bitmap())
}

// Span returns the set of the numbers from low, inclusive, to high, exclusive.
func Span(low, high int) Set {
	low, high = max(low, 0), min(high, Size)
	if low >= high {
		return Set{}
	}
	b := new(bitmap)
	b.fill(low, high)
	return compact(b)
}

// compact returns the set of the numbers in b, which it may retain.
func compact(b *bitmap) Set {
	count := 0
	for _, w := range b {
		count += bits.OnesCount64(w)
	}
	if count > listMax {
		return Set{words: b, count: count}
	}
	list := make([]uint16, 0, count)
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			list = append(list, uint16(i*64+bits.TrailingZeros64(w)))
		}
	}
	return Set{list: list}
}

// bitmap returns the set as a bitmap, which must not be modified, because it may be the set's own.
func (s Set) bitmap() *bitmap {
	if s.words != nil {
		return s.words
	}
	b := new(bitmap)
	for _, n := range s.list {
		b[n/64] |= 1 << (n % 64)
	}
	return b
}

// fill adds the numbers from low, inclusive, to high, exclusive; low must be less than high.
func (b *bitmap) fill(low, high int) {
	first, last := low/64, (high-1)/64
	head := ^uint64(0) << (low % 64)
	tail := ^uint64(0) >> (63 - (high-1)%64)
	if first == last {
		b[first] |= head & tail
		return
	}
	b[first] |= head
	for i := first + 1; i < last; i++ {
		b[i] = ^uint64(0)
	}
	b[last] |= tail
}

// Len returns the number of members.
func (s Set) Len() int {
	if s.words != nil {
		return s.count
	}
	return len(s.list)
}

// Has reports whether n is in the set.
func (s Set) Has(n uint16) bool {
	if s.words != nil {
		return s.words[n/64]&(1<<(n%64)) != 0
	}
	_, ok := slices.BinarySearch(s.list, n)
	return ok
}

// Rank returns how many members are below n.
func (s Set) Rank(n int) int {
	switch {
	case n <= 0:
		return 0
	case n >= Size:
		return s.Len()
	case s.words == nil:
		i, _ := slices.BinarySearch(s.list, uint16(n))
		return i
	}
	rank := 0
	for _, w := range s.words[:n/64] {
		rank += bits.OnesCount64(w)
	}
	return rank + bits.OnesCount64(s.words[n/64]&(1<<(n%64)-1))
}

// Select returns the member with exactly i members below it; ok is false if there is none.
func (s Set) Select(i int) (n int, ok bool) {
	if i < 0 || i >= s.Len() {
		return 0, false
	}
	if s.words == nil {
		return int(s.list[i]), true
	}
	for at, w := range s.words {
		count := bits.OnesCount64(w)
		if i >= count {
			i -= count
			continue
		}
		for ; i > 0; i-- {
			w &= w - 1
		}
		return at*64 + bits.TrailingZeros64(w), true
	}
	return 0, false
}

// Next returns the lowest member that is at least from; ok is false if there is none.
func (s Set) Next(from int) (n int, ok bool) {
	from = max(from, 0)
	if from >= Size {
		return 0, false
	}
	if s.words == nil {
		return s.Select(s.Rank(from))
	}
	w := s.words[from/64] &^ (1<<(from%64) - 1)
	for i := from / 64; ; w = s.words[i] {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w), true
		}
		if i++; i == wordCount {
			return 0, false
		}
	}
}

// Prev returns the highest member below before; ok is false if there is none.
func (s Set) Prev(before int) (n int, ok bool) {
	before = min(before, Size)
	if before <= 0 {
		return 0, false
	}
	if s.words == nil {
		return s.Select(s.Rank(before) - 1)
	}
	last := before - 1
	w := s.words[last/64] & (^uint64(0) >> (63 - last%64))
	for i := last / 64; ; w = s.words[i] {
		if w != 0 {
			return i*64 + 63 - bits.LeadingZeros64(w), true
		}
		if i--; i < 0 {
			return 0, false
		}
	}
}
