package posting

// And returns the numbers that are in both sets.
func (s Set) And(t Set) Set {
	if s.words != nil && t.words == nil {
		s, t = t, s
	}
	if s.words == nil {
		return s.filter(t, present)
	}
	b := *s.words
	for i, w := range t.words {
		b[i] &= w
	}
	return compact(&b)
}

// AndNot returns the numbers in s that are not in t.
func (s Set) AndNot(t Set) Set {
	switch {
	case t.Len() == 0:
		return s
	case s.words == nil:
		return s.filter(t, absent)
	}
	b := *s.words
	for i, w := range t.bitmap() {
		b[i] &^= w
	}
	return compact(&b)
}

// Or returns the numbers that are in either set.
func (s Set) Or(t Set) Set {
	switch {
	case t.Len() == 0:
		return s
	case s.Len() == 0:
		return t
	case s.words == nil && t.words == nil:
		return Of(merge(s.list, t.list))
	}
	b := *s.bitmap()
	for i, w := range t.bitmap() {
		b[i] |= w
	}
	return compact(&b)
}

// presence says which numbers a filter keeps.
type presence bool

const (
	present presence = true
	absent  presence = false
)

// filter returns the numbers of the list that are present in t, or absent from it.
func (s Set) filter(t Set, keep presence) Set {
	var list []uint16
	for _, n := range s.list {
		if presence(t.Has(n)) == keep {
			list = append(list, n)
		}
	}
	return Set{list: list}
}

// merge returns the union of two ascending lists.
func merge(a, b []uint16) []uint16 {
	all := make([]uint16, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			all, a = append(all, a[0]), a[1:]
		case a[0] > b[0]:
			all, b = append(all, b[0]), b[1:]
		default:
			all, a, b = append(all, a[0]), a[1:], b[1:]
		}
	}
	return append(append(all, a...), b...)
}
