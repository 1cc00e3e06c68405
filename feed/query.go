package feed

import (
	"fmt"
	"iter"
	"math"

	"github.com/stoatdb/stoat"
)

// Query is a choice of entries of a feed: all of them, until its methods narrow it. It is
// immutable: they return another one. So it may be kept, shared, and run as often as wanted.
type Query[T any] struct {
	feed      *Feed[T]
	low, high uint64 // from low up to but without high
	reverse   bool
	redacted  bool
	newest    int // 0 or less: all
	limit     int // 0 or less: none
	filter    *Filter
}

// Query returns the query for all entries, from the first to the last.
func (f *Feed[T]) Query() Query[T] { return Query[T]{feed: f, high: math.MaxUint64} }

// From leaves out the entries below seq. Of several bounds, all hold.
func (q Query[T]) From(seq uint64) Query[T] {
	q.low = max(q.low, seq)
	return q
}

// After leaves out the entries below seq, and seq.
func (q Query[T]) After(seq uint64) Query[T] {
	if seq == math.MaxUint64 {
		q.high = 0
		return q
	}
	return q.From(seq + 1)
}

// Before leaves out the entries from seq on.
func (q Query[T]) Before(seq uint64) Query[T] {
	q.high = min(q.high, seq)
	return q
}

// Through leaves out the entries behind seq.
func (q Query[T]) Through(seq uint64) Query[T] {
	if seq == math.MaxUint64 {
		return q
	}
	return q.Before(seq + 1)
}

// Reverse turns the order around: of the entries chosen, the last comes first.
func (q Query[T]) Reverse() Query[T] {
	q.reverse = !q.reverse
	return q
}

// Newest leaves out all but the last n of the entries chosen. They come in the order of the query:
// the oldest of them first, unless it is turned around. 0 or less leaves out none.
func (q Query[T]) Newest(n int) Query[T] {
	if q.newest <= 0 || n > 0 && n < q.newest {
		q.newest = n
	}
	return q
}

// Limit ends the query after n entries; 0 or less is no limit. What is left out does not count.
func (q Query[T]) Limit(n int) Query[T] {
	q.limit = n
	return q
}

// Where leaves out the entries that the filter does not let through. Of several filters, all hold.
func (q Query[T]) Where(filter Filter) Query[T] {
	if q.filter != nil {
		filter = q.filter.And(filter)
	}
	q.filter = &filter
	return q
}

// WithRedacted includes the entries that are redacted, without their values. They count then.
func (q Query[T]) WithRedacted() Query[T] {
	q.redacted = true
	return q
}

// All returns a loop over the entries. It sees those that there are when it starts; one that the
// body redacts or removes ahead of it is passed over or not. The last step of a loop that fails is
// an error. A value of type []byte is valid until the transaction ends and must not be modified;
// other values are the caller's.
func (q Query[T]) All(tx *stoat.Tx) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		q, s, err := q.in(tx)
		if err == nil {
			var entry Entry[T] // one for all: only what values refer to is new
			err = q.each(s, func(seq uint64, e stored) (bool, error) {
				if err := q.feed.decode(s, seq, e, &entry); err != nil {
					return false, err
				}
				return yield(entry, nil), nil
			})
		}
		if err != nil {
			yield(Entry[T]{}, err)
		}
	}
}

// Count returns how many entries there are, without reading them.
func (q Query[T]) Count(tx *stoat.Tx) (uint64, error) {
	q, s, err := q.in(tx)
	if err != nil {
		return 0, err
	}
	count := uint64(0)
	err = q.chunks(s, func(c chunk) (bool, error) {
		count += uint64(c.count())
		return true, nil
	})
	if q.limit > 0 {
		count = min(count, uint64(q.limit))
	}
	return count, err
}

// First returns the entry that comes first. The error is [stoat.ErrNotFound] if there is none. What
// holds of values is as with All.
func (q Query[T]) First(tx *stoat.Tx) (Entry[T], error) { return q.Nth(tx, 0) }

// Last returns the entry that comes last; in all else it is like First.
func (q Query[T]) Last(tx *stoat.Tx) (Entry[T], error) {
	if q.limit <= 0 {
		return q.Reverse().Nth(tx, 0)
	}
	n, err := q.Count(tx)
	if err != nil {
		return Entry[T]{}, err
	}
	return q.Nth(tx, max(int(n), 1)-1)
}

// Nth returns the entry that the query has at position n, the first being 0. It does not read those
// before. The error is [stoat.ErrNotFound] if there are not so many. What holds of values is as
// with All.
func (q Query[T]) Nth(tx *stoat.Tx, n int) (Entry[T], error) {
	q, s, err := q.in(tx)
	if err != nil {
		return Entry[T]{}, err
	}
	found, seq := false, uint64(0)
	if n >= 0 && (q.limit <= 0 || n < q.limit) {
		seq, found, err = q.position(s, n)
	}
	if err == nil && !found {
		err = fmt.Errorf("feed %q: the query has no position %d: %w", s.name, n, stoat.ErrNotFound)
	}
	if err != nil {
		return Entry[T]{}, err
	}
	e, err := s.stored(seq)
	if err != nil {
		return Entry[T]{}, err
	}
	var entry Entry[T]
	if err := q.feed.decode(s, seq, e, &entry); err != nil {
		return Entry[T]{}, err
	}
	return entry, nil
}
