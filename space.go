package stoat

import (
	"bytes"
	"fmt"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// space is a bucket as seen from a transaction, root or not: what Tx and Bucket have in common.
// It remembers the generation of the session, so that it is recognised as stale when that serves
// another transaction. Like its transaction it is not safe for concurrent use.
type space struct {
	session *session
	born    uint64 // the generation of the session that it belongs to
	id      uint64
	parent  *space // nil in the root and right below it

	prefix      [keyspace.MaxPrefixBytes]byte // of the internal keys
	prefixBytes uint8
}

// setPrefix computes the prefix from the id.
func (s *space) setPrefix() {
	s.prefixBytes = uint8(len(keyspace.AppendPrefix(s.prefix[:0], s.id)))
}

// ended reports whether the transaction is over.
func (s *space) ended() bool { return s.born != s.session.generation }

// over returns why the transaction cannot be used any more, or nil.
func (s *space) over() error {
	if s.ended() {
		return ErrTxClosed
	}
	if w := s.session.w; w != nil && w.Closed() {
		return ErrClosed
	}
	return nil
}

// check returns an error unless the bucket can be read.
func (s *space) check() error {
	if err := s.over(); err != nil {
		return err
	}
	if s.session.dropped != nil {
		return s.checkDropped()
	}
	return nil
}

// checkDropped returns an error if this transaction dropped the bucket or one that holds it.
func (s *space) checkDropped() error {
	for b := s; b != nil; b = b.holder() {
		if _, dropped := s.session.dropped[b.id]; dropped {
			return ErrBucketNotFound
		}
	}
	return nil
}

// checkWrite returns an error unless the bucket can be written.
func (s *space) checkWrite() error {
	if !s.ended() && !s.session.writable {
		return errReadTx
	}
	return s.check()
}

// key returns the internal key of the user's key, valid until the next call of key.
func (s *space) key(user []byte) []byte {
	k := append(s.session.scratch[:0], s.prefix[:s.prefixBytes]...)
	k = append(k, user...)
	s.session.scratch = k
	return k
}

// lookup returns the value of key.
func (s *space) lookup(key []byte) (value []byte, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	return s.session.get(s.key(key))
}

// clip returns b such that it is not nil and appending to it copies it.
func clip(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b[:len(b):len(b)]
}

// Get returns the value of key in this bucket, or [ErrNotFound]. The slice is valid until the
// transaction ends and must not be modified; that of an empty value is empty and not nil.
func (s *space) Get(key []byte) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	value, ok, err := s.lookup(key)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrNotFound
	}
	return clip(value), nil
}

// Has reports whether key is in this bucket.
func (s *space) Has(key []byte) (bool, error) {
	if err := s.check(); err != nil {
		return false, err
	}
	if err := checkKey(key); err != nil {
		return false, err
	}
	return s.session.has(s.key(key))
}

// Put stores value under key in this bucket, in place of any earlier value. Both are copied. A key
// has 1 to 65,535 bytes, else the error is [ErrInvalidKey] or [ErrTooLarge]; a value has at most
// 1 GiB, else it is ErrTooLarge. A nil value is stored as an empty one.
func (s *space) Put(key, value []byte) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	if err := checkValue(value); err != nil {
		return err
	}
	return s.session.put(s.key(key), value)
}

// Delete removes key from this bucket. It reads nothing, and returns nil if there is no such key.
func (s *space) Delete(key []byte) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	return s.session.delete(s.key(key))
}

// DeleteRange removes the keys of this bucket that are in r, as if by Delete. Unless r has a Limit,
// its cost does not grow with their number, and neither does that of later reads. Buckets within
// this one stay.
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

// span returns the internal keys from the first to the last that r stands for; ok is false if it
// stands for none.
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

// CompareAndSwap stores new under key if the value of key is old, and reports whether it did. A nil
// old stands for an absent key; an empty old that is not nil, for an empty value. A nil new is
// stored as an empty value. A key that expires goes on to do so at the same moment.
func (s *space) CompareAndSwap(key, old, new []byte) (swapped bool, err error) {
	if err := s.checkWrite(); err != nil {
		return false, err
	}
	if err := checkValue(new); err != nil {
		return false, err
	}
	value, until, ok, err := s.lookupUntil(key)
	if err != nil || ok != (old != nil) || !bytes.Equal(value, old) {
		return false, err
	}
	if err := s.session.putUntil(s.key(key), new, until); err != nil {
		return false, err
	}
	return true, nil
}

// CompareAndDelete removes key if its value is old, and reports whether it did. A nil old, which
// stands for an absent key, removes nothing.
func (s *space) CompareAndDelete(key, old []byte) (deleted bool, err error) {
	if err := s.checkWrite(); err != nil {
		return false, err
	}
	value, ok, err := s.lookup(key)
	if err != nil || !ok || old == nil || !bytes.Equal(value, old) {
		return false, err
	}
	if err := s.session.delete(s.key(key)); err != nil {
		return false, err
	}
	return true, nil
}
