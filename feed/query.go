package feed

import (
	"fmt"
	"iter"
	"math"

	"github.com/stoatdb/stoat"
)

// Query selects entries of a feed: all of them, until its methods narrow it down. It is immutable:
// its methods return modified copies, so it can be stored, shared, and run any number of times.
type Query[T any] struct {
	feed      *Feed[T]
	low, high uint64 // from low, inclusive, to high, exclusive
	reverse   bool
	redacted  bool
	newest    int // 0 or less: all
	limit     int // 0 or less: no limit
	filter    *Filter
}

// Query returns the query for all entries, in ascending order.
func (f *Feed[T]) Query() Query[T] { return Query[T]{feed: f, high: math.MaxUint64} }

// From excludes entries below seq. Bounds accumulate.
func (q Query[T]) From(seq uint64) Query[T] {
	q.low = max(q.low, seq)
	return q
}

// After excludes seq and the entries below it.
func (q Query[T]) After(seq uint64) Query[T] {
	if seq == math.MaxUint64 {
		q.high = 0
		return q
	}
	return q.From(seq + 1)
}

// Before excludes seq and the entries above it.
func (q Query[T]) Before(seq uint64) Query[T] {
	q.high = min(q.high, seq)
	return q
}

// Through excludes entries above seq.
func (q Query[T]) Through(seq uint64) Query[T] {
	if seq == math.MaxUint64 {
		return q
	}
	return q.Before(seq + 1)
}

// Reverse reverses the order of the selected entries.
func (q Query[T]) Reverse() Query[T] {
	q.reverse = !q.reverse
	return q
}

// Newest keeps only the last n of the selected entries. They still come in the order of the query:
// oldest first, unless it is reversed. 0 or less keeps all.
func (q Query[T]) Newest(n int) Query[T] {
	if q.newest <= 0 || n > 0 && n < q.newest {
		q.newest = n
	}
	return q
}

// Limit ends the query after n entries; 0 or less means no limit. Excluded entries do not count.
func (q Query[T]) Limit(n int) Query[T] {
	q.limit = n
	return q
}

// Where excludes entries that the filter does not match. Filters accumulate.
func (q Query[T]) Where(filter Filter) Query[T] {
	if q.filter != nil {
		filter = q.filter.And(filter)
	}
	q.filter = &filter
	return q
}

// WithRedacted includes redacted entries, without their values. They then count as entries.
func (q Query[T]) WithRedacted() Query[T] {
	q.redacted = true
	return q
}

// All returns an iterator over the entries that exist when the loop starts. An entry that the body
// redacts or removes before the loop gets to it may or may not be skipped. If the loop fails, its
// last iteration yields an error. A []byte is valid until the transaction ends and must not be
// modified; the caller owns other values.
func (q Query[T]) All(tx *stoat.Tx) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		q, s, err := q.in(tx)
		if err == nil {
			var entry Entry[T] // reused: values get fresh memory where they need any
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

// Count returns the number of entries, without reading them.
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

// First returns the first entry, or [stoat.ErrNotFound]. Values are valid as in All.
func (q Query[T]) First(tx *stoat.Tx) (Entry[T], error) { return q.Nth(tx, 0) }

// Last returns the last entry; it otherwise behaves like First.
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

// Nth returns the entry at position n of the query, counting from 0, without reading those before
// it. The error is [stoat.ErrNotFound] if there are not that many. Values are valid as in All.
func (q Query[T]) Nth(tx *stoat.Tx, n int) (Entry[T], error) {
	q, s, err := q.in(tx)
	if err != nil {
		return Entry[T]{}, err
	}
	found, seq := false, uint64(0)
	if n >= 0 && (q.limit <= 0 || n < q.limit) {
		seq, found, err = q.nth(s, n)
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
