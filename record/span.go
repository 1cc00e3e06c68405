package record

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/tuple"
)

// span is the encoded elements, or tuples, from low up to but without high. A nil high has no end.
// It is immutable.
type span struct{ low, high []byte }

// has reports whether the element is in the span.
func (s *span) has(element []byte) bool {
	return bytes.Compare(s.low, element) <= 0 &&
		(s.high == nil || bytes.Compare(element, s.high) < 0)
}

// empty reports whether nothing is in the span.
func (s *span) empty() bool { return s.high != nil && bytes.Compare(s.low, s.high) >= 0 }

// point reports whether the span has exactly one element; low is what it is encoded to.
func (s *span) point() bool {
	if len(s.low) == 0 || s.high == nil || !bytes.Equal(s.high, successor(s.low)) {
		return false
	}
	return complete(s.low)
}

// union returns the spans in order, with those as one that touch.
func union(spans []span) []span {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.empty() })
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.low, b.low) })
	var joined []span
	for _, s := range spans {
		n := len(joined) - 1
		if n < 0 || joined[n].high != nil && bytes.Compare(joined[n].high, s.low) < 0 ||
			joined[n].point() && !joined[n].has(s.low) { // points stay what they are
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

// intersect returns what is in a span of both lists, which are in order.
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

// within returns the span of the tuples that begin with prefix and go on in s.
func (s *span) within(prefix []byte) span {
	inner := span{slices.Concat(prefix, s.low), successor(prefix)}
	if s.high != nil {
		inner.high = slices.Concat(prefix, s.high)
	}
	return inner
}

// complete reports whether p is one whole element.
func complete(p []byte) bool {
	r := tuple.NewReader(p)
	return r.Skip() == nil && !r.More()
}
