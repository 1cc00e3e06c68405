package record

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/tuple"
)

// span is a range of encoded elements, or tuples, from low, inclusive, to high, exclusive. A nil
// high means no end. It is immutable.
type span struct{ low, high []byte }

// has reports whether the element is in the span.
func (s *span) has(element []byte) bool {
	return bytes.Compare(s.low, element) <= 0 &&
		(s.high == nil || bytes.Compare(element, s.high) < 0)
}

// empty reports whether the span contains nothing.
func (s *span) empty() bool { return s.high != nil && bytes.Compare(s.low, s.high) >= 0 }

// point reports whether the span contains exactly one element, whose encoding is low.
func (s *span) point() bool {
	if len(s.low) == 0 || s.high == nil || !bytes.Equal(s.high, successor(s.low)) {
		return false
	}
	r := tuple.NewReader(s.low)
	return r.Skip() == nil && !r.More()
}

// union returns the spans in order, with spans that touch joined.
func union(spans []span) []span {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.empty() })
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.low, b.low) })
	var joined []span
	for _, s := range spans {
		n := len(joined) - 1
		if n < 0 || joined[n].high != nil && bytes.Compare(joined[n].high, s.low) < 0 ||
			joined[n].point() && !joined[n].has(s.low) { // do not join points
			joined = append(joined, s)
			continue
		}
		if last := &joined[n]; last.high != nil &&
			(s.high == nil || bytes.Compare(s.high, last.high) > 0) {
			last.high = s.high
		}
	}
	return joined
}

// intersect returns the spans that two sorted lists have in common.
func intersect(a, b []span) []span {
	var both []span
	for _, s := range a {
		for _, t := range b {
			s := span{s.low, lower(s.high, t.high)}
			if bytes.Compare(t.low, s.low) > 0 {
				s.low = t.low
			}
			if !s.empty() {
				both = append(both, s)
			}
		}
	}
	return both
}

// lower returns the lower of two ends.
func lower(a, b []byte) []byte {
	if a == nil || b != nil && bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}

// within returns the span of the tuples that begin with prefix and continue in s.
func (s *span) within(prefix []byte) span {
	inner := span{slices.Concat(prefix, s.low), successor(prefix)}
	if s.high != nil {
		inner.high = slices.Concat(prefix, s.high)
	}
	return inner
}
