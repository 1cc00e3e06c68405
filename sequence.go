package stoat

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// NextSequence returns the next number of this bucket's sequence: 1, 2, 3, and so on. Each bucket,
// including the root, has its own. The step is part of the transaction: after a rollback, the
// number is used again.
func (s *space) NextSequence() (uint64, error) {
	if err := s.checkWrite(); err != nil {
		return 0, err
	}
	n, err := s.Sequence()
	if err != nil {
		return 0, err
	}
	if n == math.MaxUint64 {
		return 0, fmt.Errorf("sequence after %d: %w", n, ErrTooLarge)
	}
	s.session.sequence = sequence{bucket: s.id, n: n + 1, known: true, changed: true}
	return n + 1, nil
}

// Sequence returns the number that NextSequence last returned, or 0.
func (s *space) Sequence() (uint64, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	if last := &s.session.sequence; last.known && last.bucket == s.id {
		return last.n, nil
	}
	if err := s.session.storeSequence(); err != nil {
		return 0, err
	}
	n, err := s.session.number(s.session.sequenceKey(s.id), 0)
	if err != nil {
		return 0, fmt.Errorf("read sequence: %w", err)
	}
	s.session.sequence = sequence{bucket: s.id, n: n, known: true}
	return n, nil
}

// SetSequence makes n+1 the number that NextSequence returns next.
func (s *space) SetSequence(n uint64) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	if err := s.session.storeSequence(); err != nil {
		return err
	}
	s.session.sequence = sequence{bucket: s.id, n: n, known: true, changed: true}
	return nil
}

// sequence caches the sequence number of the bucket that a transaction used last. It is stored when
// another bucket's sequence is used and at the commit, so a step costs no write of its own.
type sequence struct {
	bucket, n      uint64
	known, changed bool
}

// storeSequence writes the cached sequence number, if it has changed.
func (s *session) storeSequence() (err error) {
	if last := s.sequence; last.changed {
		err = s.putNumber(s.sequenceKey(last.bucket), last.n)
	}
	s.sequence = sequence{}
	return err
}

// sequenceKey returns the internal key of a bucket's sequence, valid until the scratch buffer is
// next used.
func (s *session) sequenceKey(bucket uint64) []byte {
	s.scratch = keyspace.AppendSequence(s.scratch[:0], bucket)
	return s.scratch
}

// number returns the number stored under an internal key, or absent if the key does not exist.
func (s *session) number(key []byte, absent uint64) (uint64, error) {
	value, ok, err := s.get(key)
	if err != nil || !ok {
		return absent, err
	}
	return parseNumber(value)
}

// putNumber stores a number under an internal key.
func (s *session) putNumber(key []byte, n uint64) error {
	var buf [binary.MaxVarintLen64]byte
	return s.put(key, binary.AppendUvarint(buf[:0], n))
}

// parseNumber decodes a value that putNumber stored.
func parseNumber(value []byte) (uint64, error) {
	n, size := binary.Uvarint(value)
	if size <= 0 || size != len(value) {
		return 0, fmt.Errorf("number %x: %w", value, ErrCorrupt)
	}
	return n, nil
}
