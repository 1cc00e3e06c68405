package feed

import (
	"errors"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed/internal/posting"
)

// errStop ends a loop that has got all that it wants.
var errStop = errors.New("enough")

// scanEvery says when to read all entries of a chunk instead of those wanted alone: if one of so
// many is wanted.
const scanEvery = 16

// in returns the query as it is run in a transaction, with a bound instead of Newest, and the
// session of the feed.
func (q Query[T]) in(tx *stoat.Tx) (Query[T], *session, error) {
	s, err := q.feed.session(tx)
	if err != nil || q.newest <= 0 {
		return q, s, err
	}
	back := q
	back.reverse = true
	oldest, found, err := back.position(s, q.newest-1)
	if found {
		q.low = oldest
	}
	q.newest = 0
	return q, s, err
}

// position returns the entry that the query has at position n, whatever its limit.
func (q *Query[T]) position(s *session, n int) (seq uint64, found bool, err error) {
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

// bounds returns what the query's bounds are among the entries that there are.
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
		err = q.scan(s, visit)
	} else {
		err = q.pick(s, visit)
	}
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// scan visits all entries within the bounds.
func (q *Query[T]) scan(s *session, visit func(uint64, stored) error) error {
	low, high := q.bounds(s)
	return s.scan(low, high, q.reverse, visit)
}

// scan visits the entries from low up to but without high.
func (s *session) scan(
	low, high uint64, reverse bool, visit func(uint64, stored) error,
) error {
	if low >= high {
		return nil
	}
	before := s.tx.Err()
	r := stoat.Range{Start: entryKey(low), End: entryKey(high), Reverse: reverse}
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
	if before != nil { // of another loop
		return nil
	}
	return s.tx.Err()
}

// pick visits the entries within the bounds that the filter lets through.
func (q *Query[T]) pick(s *session, visit func(uint64, stored) error) error {
	return q.chunks(s, func(c chunk) (bool, error) {
		if c.count()*scanEvery < c.high-c.low {
			return true, q.lookUp(s, c, visit)
		}
		low, high := c.base+uint64(c.low), c.base+uint64(c.high)
		return true, s.scan(low, high, q.reverse, func(seq uint64, e stored) error {
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

// chunks calls fn for each chunk with entries of the query, in the query's order, until it returns
// false or an error.
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

// set returns those of all the numbers of a chunk that the query is about, but for its bounds.
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

// chunk is the entries of a query within one chunk: those of the set from low up to but without
// high.
type chunk struct {
	base      uint64
	set       posting.Set
	low, high int
}

// count returns how many entries there are.
func (c *chunk) count() int { return c.set.Rank(c.high) - c.set.Rank(c.low) }

// at returns the entry at a position that is below count.
func (c *chunk) at(position int, reverse bool) (uint64, bool) {
	if reverse {
		position = c.count() - 1 - position
	}
	n, ok := c.set.Select(c.set.Rank(c.low) + position)
	return c.base + uint64(n), ok
}

// start returns the first entry.
func (c *chunk) start(reverse bool) (uint64, bool) {
	if reverse {
		return c.prev(c.high)
	}
	return c.next(c.low)
}

// follow returns the entry that follows seq.
func (c *chunk) follow(seq uint64, reverse bool) (uint64, bool) {
	n := int(seq - c.base)
	if reverse {
		return c.prev(n)
	}
	return c.next(n + 1)
}

func (c *chunk) next(from int) (uint64, bool) {
	n, ok := c.set.Next(from)
	return c.base + uint64(n), ok && n < c.high
}

func (c *chunk) prev(before int) (uint64, bool) {
	n, ok := c.set.Prev(before)
	return c.base + uint64(n), ok && n >= c.low
}
