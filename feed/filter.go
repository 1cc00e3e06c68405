package feed

import "github.com/stoatdb/stoat/feed/internal/posting"

// Filter says which entries a query is about, by the addresses that they belong to. It is
// immutable.
type Filter struct {
	op          operation
	sublog      string   // of in
	addresses   []string // of in
	left, right *Filter  // of the others
}

// operation is what a filter does with its parts.
type operation uint8

const (
	in operation = iota
	and
	or
	andNot
)

// In returns the filter for the entries that belong to one of the addresses in a sublog, or more of
// them. Without addresses it lets nothing through.
func In(sublog string, addresses ...string) Filter {
	return Filter{op: in, sublog: sublog, addresses: append([]string(nil), addresses...)}
}

// And returns the filter for what both let through.
func (f Filter) And(g Filter) Filter { return Filter{op: and, left: &f, right: &g} }

// Or returns the filter for what one of them lets through, or both.
func (f Filter) Or(g Filter) Filter { return Filter{op: or, left: &f, right: &g} }

// AndNot returns the filter for what f lets through and g does not.
func (f Filter) AndNot(g Filter) Filter { return Filter{op: andNot, left: &f, right: &g} }

// check returns an error unless the feed has all the sublogs of the filter.
func (f *Filter) check(s *session) error {
	if f.op == in {
		return s.usable(f.sublog)
	}
	if err := f.left.check(s); err != nil {
		return err
	}
	return f.right.check(s)
}

// set returns the numbers of the chunk that the filter lets through.
func (f *Filter) set(s *session, chunk uint64) (posting.Set, error) {
	if f.op == in {
		return f.union(s, chunk)
	}
	left, err := f.left.set(s, chunk)
	if err != nil || left.Len() == 0 && f.op != or {
		return left, err
	}
	right, err := f.right.set(s, chunk)
	if err != nil {
		return right, err
	}
	switch f.op {
	case and:
		return left.And(right), nil
	case or:
		return left.Or(right), nil
	}
	return left.AndNot(right), nil
}

// union returns the numbers of the chunk that belong to one of the addresses.
func (f *Filter) union(s *session, chunk uint64) (all posting.Set, err error) {
	l, err := s.lists(f.sublog, false)
	if err != nil {
		return all, err
	}
	for _, address := range f.addresses {
		set, err := l.set(chunk, address)
		if err != nil {
			return all, err
		}
		all = all.Or(set)
	}
	return all, nil
}
