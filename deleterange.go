package stoat

import (
	"bytes"
	"fmt"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// DeleteRange removes the keys of this bucket that are in r, as Delete would. Unless r has a Limit,
// neither its cost nor that of later reads depends on their number. Nested buckets stay.
func (s *space) DeleteRange(r Range) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	if longest := max(len(r.Start), len(r.End)); longest > keyspace.MaxKeyBytes {
		return fmt.Errorf("bound of %d bytes, the limit is 65,535: %w", longest, ErrTooLarge)
	}
	span, ok, err := s.span(r)
	if !ok {
		return err
	}
	s.session.snap = nil
	return s.session.wrote(s.session.w.DeleteRange(span))
}

// span returns the span of internal keys that r covers, which reads keys if r has a limit; ok is
// false if it is empty.
func (s *space) span(r Range) (span keyspace.Span, ok bool, err error) {
	lower, upper, ok := r.bounds(new([]byte), s.prefix[:s.prefixBytes])
	if !ok || r.Limit <= 0 {
		return keyspace.Span{Start: lower, End: upper}, ok, nil
	}
	n := 0
	var last []byte
	for key := range s.Keys(r) {
		n, last = n+1, key
	}
	if err := s.session.err; err != nil || n == 0 {
		return keyspace.Span{}, false, err
	}
	if n < r.Limit {
		return keyspace.Span{Start: lower, End: upper}, true, nil
	}
	last = bytes.Clone(s.key(last))
	if r.Reverse {
		return keyspace.Span{Start: last, End: upper}, true, nil
	}
	return keyspace.Span{Start: lower, End: append(last, 0)}, true, nil
}
