package feed

import (
	"errors"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed/internal/posting"
)

// errStop ends a loop early.
var errStop = errors.New("enough")

// scanEvery is the density from which a filtered query scans all entries of a chunk instead of
// looking up each match: one match in this many entries.
const scanEvery = 16

// in returns the query as it runs in a transaction, with Newest turned into a bound, and the
// session of the feed.
func (q Query[T]) in(tx *stoat.Tx) (Query[T], *session, error) {
	s, err := q.feed.session(tx)
	if err != nil || q.newest <= 0 {
		return q, s, err
	}
	back := q
	back.reverse = true
	oldest, found, err := back.nth(s, q.newest-1)
	if found {
		q.low = oldest
	}
	q.newest = 0
	return q, s, err
}

// nth returns the entry at position n of the query, ignoring its limit.
func (q *Query[T]) nth(s *session, n int) (seq uint64, found bool, err error) {
	err = q.chunks(s, func(c chunk) (bool, error) {
		if n >= c.count() {
			n -= c.count()
			return true, nil
		}
		seq, found = c.at(n, q.reverse)
		return false, nil
	})
	return seq, found, err
}

// bounds returns the query's bounds, restricted to existing entries.
func (q *Query[T]) bounds(s *session) (low, high uint64) {
	return max(q.low, s.first), min(q.high, s.next)
}

// each calls fn for the entries of the query, until it returns false or an error.
func (q *Query[T]) each(s *session, fn func(uint64, stored) (bool, error)) error {
	left := q.limit
	visit := func(seq uint64, e stored) error {
		if e.redacted && !q.redacted {
			return nil
		}
		more, err := fn(seq, e)
		if left--; err == nil && (!more || q.limit > 0 && left == 0) {
			err = errStop
		}
		return err
	}
	var err error
	if q.filter == nil {
		low, high := q.bounds(s)
		err = q.scan(s, low, high, visit)
	} else {
		err = q.pick(s, visit)
	}
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// scan visits the entries from low, inclusive, to high, exclusive, in the order of the query.
func (q *Query[T]) scan(
	s *session, low, high uint64, visit func(uint64, stored) error,
) error {
	r := entryRange(low, high)
	r.Reverse = q.reverse
	return s.scan(r, visit)
}

// entryRange returns the range of keys of the entries from low, inclusive, to high, exclusive.
func entryRange(low, high uint64) stoat.Range {
	return stoat.Range{Start: entryKey(low), End: entryKey(high)}
}

// scan visits the entries with keys in a range.
func (s *session) scan(r stoat.Range, visit func(uint64, stored) error) error {
	before := s.tx.Err()
	for key, p := range s.entries.Scan(r) {
		seq, err := parseKey(key)
		if err != nil {
			return err
		}
		e, err := parseEntry(seq, p)
		if err == nil {
			err = visit(seq, e)
		}
		if err != nil {
			return err
		}
	}
	if before != nil { // the error belongs to another loop
		return nil
	}
	return s.tx.Err()
}

// pick visits the entries within the bounds that the filter matches.
func (q *Query[T]) pick(s *session, visit func(uint64, stored) error) error {
	return q.chunks(s, func(c chunk) (bool, error) {
		if c.count()*scanEvery < c.high-c.low {
			return true, q.lookUp(s, c, visit)
		}
		low, high := c.base+uint64(c.low), c.base+uint64(c.high)
		return true, q.scan(s, low, high, func(seq uint64, e stored) error {
			if !c.set.Has(uint16(seq - c.base)) {
				return nil
			}
			return visit(seq, e)
		})
	})
}

// lookUp visits the entries of a chunk one by one.
func (q *Query[T]) lookUp(s *session, c chunk, visit func(uint64, stored) error) error {
	for seq, ok := c.start(q.reverse); ok; seq, ok = c.follow(seq, q.reverse) {
		if seq < s.first { // removed since the loop started
			continue
		}
		e, err := s.stored(seq)
		if err == nil {
			err = visit(seq, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chunks calls fn for each chunk that contains entries of the query, in the query's order, until it
// returns false or an error.
func (q *Query[T]) chunks(s *session, fn func(chunk) (bool, error)) error {
	everything := posting.Span(0, chunkSize)
	if q.filter != nil {
		if err := q.filter.check(s); err != nil {
			return err
		}
	}
	low, high := q.bounds(s)
	if low >= high {
		return nil
	}
	first, last := low&^chunkMask, (high-1)&^chunkMask
	for i := uint64(0); i <= (last-first)/chunkSize; i++ {
		base := first + i*chunkSize
		if q.reverse {
			base = last - i*chunkSize
		}
		set, err := q.set(s, base, everything)
		if err != nil {
			return err
		}
		c := chunk{base, set, within(base, low), within(base, high)}
		if c.count() == 0 {
			continue
		}
		if more, err := fn(c); !more || err != nil {
			return err
		}
	}
	return nil
}

// set returns the numbers of a chunk that the query selects, ignoring its bounds.
func (q *Query[T]) set(s *session, base uint64, all posting.Set) (posting.Set, error) {
	if q.filter != nil {
		var err error
		if all, err = q.filter.set(s, base); err != nil || all.Len() == 0 {
			return all, err
		}
	}
	if q.redacted {
		return all, nil
	}
	l, err := s.redactions()
	if err != nil {
		return all, err
	}
	redacted, err := l.set(base, "")
	return all.AndNot(redacted), err
}
