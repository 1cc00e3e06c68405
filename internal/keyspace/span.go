package keyspace

import (
	"bytes"
	"slices"
	"sort"
)

// Span is a range of internal keys: from Start on, up to but without End. A nil End is no bound.
type Span struct{ Start, End []byte }

// Contains reports whether key is in the span.
func (s Span) Contains(key []byte) bool {
	return bytes.Compare(s.Start, key) <= 0 && s.above(key)
}

// Clone returns the same span in memory of its own.
func (s Span) Clone() Span { return Span{bytes.Clone(s.Start), bytes.Clone(s.End)} }

func (s Span) above(key []byte) bool { return s.End == nil || bytes.Compare(key, s.End) < 0 }

// Intersect returns the keys that are in both spans.
func (s Span) Intersect(t Span) Span {
	if bytes.Compare(s.Start, t.Start) < 0 {
		s.Start = t.Start
	}
	if s.End == nil || t.End != nil && bytes.Compare(t.End, s.End) < 0 {
		s.End = t.End
	}
	return s
}

// Spans is a set of keys as spans in order that neither overlap nor touch. Immutable.
type Spans []Span

// With returns the set of the keys in s or in more, in new memory but for the keys. A span that is
// empty adds nothing.
func (s Spans) With(more ...Span) Spans {
	all := slices.Concat(s, more)
	all = slices.DeleteFunc(all, func(a Span) bool { return !a.above(a.Start) })
	slices.SortFunc(all, func(a, b Span) int { return bytes.Compare(a.Start, b.Start) })
	var union Spans
	for _, a := range all {
		last := len(union) - 1
		switch {
		case last < 0 || union[last].End != nil && bytes.Compare(union[last].End, a.Start) < 0:
			union = append(union, a)
		case union[last].End != nil && (a.End == nil || bytes.Compare(a.End, union[last].End) > 0):
			union[last].End = a.End
		}
	}
	return union
}

// Find returns the index of the first span that ends above key, which may be len(s), and whether it
// contains key.
func (s Spans) Find(key []byte) (index int, inside bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].above(key) })
	return i, i < len(s) && bytes.Compare(s[i].Start, key) <= 0
}

// Contains reports whether key is in the set.
func (s Spans) Contains(key []byte) bool {
	_, inside := s.Find(key)
	return inside
}

// Around returns the widest span around key whose keys are all in the set, or all not in it, and
// which it is.
func (s Spans) Around(key []byte) (span Span, inside bool) {
	i, inside := s.Find(key)
	if inside {
		return s[i], true
	}
	if i > 0 {
		span.Start = s[i-1].End
	}
	if i < len(s) {
		span.End = s[i].Start
	}
	return span, false
}

// Between returns the spans that have a key from first to last, both included, in the same memory.
func (s Spans) Between(first, last []byte) Spans {
	i, _ := s.Find(first)
	n := sort.Search(len(s)-i, func(n int) bool { return bytes.Compare(s[i+n].Start, last) > 0 })
	return s[i : i+n]
}

// Meets reports whether the set has a key from first to last, both included.
func (s Spans) Meets(first, last []byte) bool {
	i, inside := s.Find(first)
	return inside || i < len(s) && bytes.Compare(s[i].Start, last) <= 0
}
