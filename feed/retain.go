package feed

import (
	"time"

	"github.com/stoatdb/stoat"
)

// retainEvery sets how often retention is applied: after 1/retainEvery of a feed has been appended,
// which spreads the cost over many entries.
const retainEvery = 16

// Retain immediately removes all entries that r does not keep, regardless of [Options.Retention].
// Their numbers are never reused. The cost does not depend on how many there are.
func (f *Feed[T]) Retain(tx *stoat.Tx, r Retention) error {
	if err := r.check(); err != nil {
		return err
	}
	s, err := f.writable(tx)
	if err != nil {
		return err
	}
	return s.retain(r, f.now())
}

// Since returns the number of the first kept entry that was appended at or after t, or [Feed.Len]
// if there is none.
func (f *Feed[T]) Since(tx *stoat.Tx, t time.Time) (uint64, error) {
	s, err := f.session(tx)
	if err != nil {
		return 0, err
	}
	return s.search(s.first, func(e stored) bool { return int64(e.at) >= t.UnixMilli() })
}

// retain removes all entries that r does not keep.
func (s *session) retain(r Retention, now time.Time) error {
	first := s.first
	if r.Count > 0 && s.next-s.first > uint64(r.Count) {
		first = s.next - uint64(r.Count)
	}
	var err error
	if r.Bytes > 0 && s.written > uint64(r.Bytes) {
		limit := s.written - uint64(r.Bytes)
		first, err = s.search(first, func(e stored) bool { return e.before >= limit })
	}
	if oldest := now.Add(-r.Age).UnixMilli(); err == nil && r.Age > 0 && oldest > 0 {
		first, err = s.search(first, func(e stored) bool { return e.at >= uint64(oldest) })
	}
	if err != nil {
		return err
	}
	return s.expire(first)
}

// search returns the first entry from start on for which keep returns true, or next. Keep must be
// true for all entries after that one.
func (s *session) search(start uint64, keep func(stored) bool) (uint64, error) {
	low, high := start, s.next
	for low < high {
		middle := low + (high-low)/2
		e, err := s.stored(middle)
		if err != nil {
			return 0, err
		}
		if keep(e) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}

// expire removes all entries below first.
func (s *session) expire(first uint64) error {
	if first <= s.first {
		return nil
	}
	old := s.first
	if err := s.entries.DeleteRange(entryRange(old, first)); err != nil {
		return err
	}
	s.first = first
	chunk := first &^ chunkMask
	if old&^chunkMask == chunk {
		return nil
	}
	redacted, err := s.redactions()
	if err != nil {
		return err
	}
	if err := redacted.drop(chunk); err != nil {
		return err
	}
	for _, sub := range s.sublogs {
		l, err := s.lists(sub.name)
		if err == nil {
			err = l.drop(chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
