package pattern

import (
	"maps"
	"math"
	"math/bits"
	"slices"
)

// splitSample is how many uses of a symbol are looked at to decide how to split them.
const splitSample = 1024

// splitter finds the best way to split the uses of a symbol.
type splitter struct {
	t     *trainer
	at    []int   // a sample of the uses
	least float64 // bits to save in the sample for another token to be worth it
	gain  float64 // of the best way so far, beyond least
	slot  int     // the field that the best way depends on
	is    func(field) bool
}

// split divides the uses of a symbol into those that are worth a token of their own, and the
// others. It returns none if there is no such token.
func (t *trainer) split(units []symbol, at []int) (inside, outside []int) {
	s := splitter{t: t, at: at}
	if len(at) > splitSample {
		s.at = make([]int, 0, splitSample)
		for i := range splitSample {
			s.at = append(s.at, at[i*len(at)/splitSample])
		}
	}
	// The token's bytes in the dictionary are spread over all uses. A bit for each use pays for the
	// time to look for one more token.
	bytes := float64(8 * (len(units) + 4))
	s.least = max(2*bytes*float64(len(s.at))/float64(len(at)), float64(len(s.at)))
	j := -1
	for _, u := range units {
		if u < symbolField {
			continue
		}
		if j++; u < symbolSame || u >= symbolInt4 {
			s.consider(j)
		}
	}
	if s.is == nil {
		return nil, nil
	}
	for _, r := range at {
		if s.is(t.fields[r+s.slot]) {
			inside = append(inside, r)
		} else {
			outside = append(outside, r)
		}
	}
	return inside, outside
}

// consider tries the ways that depend on the j-th field.
func (s *splitter) consider(j int) {
	x := s.t.cover(s.at, j)
	width := float64(x.bits)
	if x.kind.counted() {
		width += float64(x.dataBits(int(x.n)))
	}
	s.byText(j, width)
	switch {
	case x.kind.based():
		s.byWidth(j, x)
	case x.bits > 0:
		s.byLength(j, x)
	}
}

// try notes a way that saves so many bits in so many uses, if it is the best so far.
func (s *splitter) try(j, uses int, saved float64, is func(field) bool) {
	m, n := float64(uses), float64(len(s.at))
	if m == 0 || m == n {
		return
	}
	// What it takes to tell the two tokens apart.
	saved -= m*math.Log2(n/m) + (n-m)*math.Log2(n/(n-m))
	if gain := saved - s.least; gain > s.gain {
		s.gain, s.slot, s.is = gain, j, is
	}
}

// byText tries to make the most frequent text of a field, which takes width bits, part of a phrase.
func (s *splitter) byText(j int, width float64) {
	texts := make(map[string]int)
	for _, r := range s.at {
		texts[string(s.t.fields[r+j].text)]++
	}
	top, uses := "", 0
	for text, n := range texts {
		if n > uses || n == uses && text < top {
			top, uses = text, n
		}
	}
	s.try(j, uses, float64(uses)*width, func(r field) bool { return string(r.text) == top })
}

// byWidth tries fewer bits for the smaller numbers.
func (s *splitter) byWidth(j int, x draftOp) {
	var widths [65]int
	for _, r := range s.at {
		widths[bits.Len64(s.t.fields[r+j].number()-x.base)]++
	}
	uses := 0
	for width := range int(x.bits) {
		uses += widths[width]
		s.try(j, uses, float64(uses)*float64(int(x.bits)-width), func(r field) bool {
			return bits.Len64(r.number()-x.base) <= width
		})
	}
}

// byLength tries to fix each length of a field, which then takes no bits.
func (s *splitter) byLength(j int, x draftOp) {
	lengths := make(map[int]int)
	for _, r := range s.at {
		lengths[len(s.t.fields[r+j].text)]++
	}
	for _, length := range slices.Sorted(maps.Keys(lengths)) {
		uses := lengths[length]
		s.try(j, uses, float64(uses)*float64(x.bits), func(r field) bool {
			return len(r.text) == length
		})
	}
}
