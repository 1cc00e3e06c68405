package feed

import "github.com/stoatdb/stoat/feed/internal/posting"

// Filter selects entries of a query by the addresses that they belong to. It is immutable.
type Filter struct {
	op          operation
	sublog      string   // if op is in
	addresses   []string // if op is in
	left, right *Filter  // if op is another
}

// operation is how a filter combines its parts.
type operation uint8

const (
	in operation = iota
	and
	or
	andNot
)

// In returns the filter for entries that belong to at least one of the addresses in a sublog.
// Without addresses it matches nothing.
func In(sublog string, addresses ...string) Filter {
	return Filter{op: in, sublog: sublog, addresses: append([]string(nil), addresses...)}
}

// And returns the filter for entries that both filters match.
func (f Filter) And(g Filter) Filter { return Filter{op: and, left: &f, right: &g} }

// Or returns the filter for entries that at least one of the filters matches.
func (f Filter) Or(g Filter) Filter { return Filter{op: or, left: &f, right: &g} }

// AndNot returns the filter for entries that f matches and g does not.
func (f Filter) AndNot(g Filter) Filter { return Filter{op: andNot, left: &f, right: &g} }

// check returns an error unless the feed has all sublogs of the filter.
func (f *Filter) check(s *session) error {
	if f.op == in {
		return s.usable(f.sublog)
	}
	if err := f.left.check(s); err != nil {
		return err
	}
	return f.right.check(s)
}

// set returns the numbers in the chunk that the filter matches.
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

// union returns the numbers in the chunk that belong to at least one of the addresses.
func (f *Filter) union(s *session, chunk uint64) (all posting.Set, err error) {
	l, err := s.lists(f.sublog)
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
