package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/stoatdb/stoat"
)

// rebuild recreates everything that derives from the records of a collection. It uses only the
// shape of their type, so it works without the Go type.
type rebuild struct {
	name   string
	s      *session
	shape  *shape
	decode func(value []byte) (reflect.Value, error) // the result is valid until the next call
	keyOf  func(record reflect.Value) ([]byte, error)

	duplicates []error
}

// duplicatesMax is the maximum number of duplicate values that a rebuild reports.
const duplicatesMax = 10

// run rebuilds the indexes, the count and the last assigned key from the records. If records have
// the same value in a unique index, the error names them.
func (b *rebuild) run() error {
	for _, x := range b.shape.indexes {
		if err := b.s.emptyIndex(x); err != nil {
			return err
		}
	}
	records := uint64(0)
	for key, value := range b.s.data.Scan(stoat.Range{}) {
		records++
		if err := b.record(key, value); err != nil {
			return fmt.Errorf("key %s: %w", formatKey(key), err)
		}
	}
	if err := b.s.tx.Err(); err != nil {
		return err
	}
	if len(b.duplicates) > 0 {
		return fmt.Errorf("%w: delete one of each from the bucket %q, and reindex",
			errors.Join(b.duplicates...), b.name)
	}
	n := &counter{meta: b.s.meta, records: records}
	b.s.shared.counter = n
	if err := n.change(b.s.tx); err != nil {
		return err
	}
	if b.shape.auto != nil {
		highest, last, err := b.s.highest()
		if err != nil {
			return err
		}
		if err := b.s.data.SetSequence(max(highest, last)); err != nil {
			return err
		}
	}
	b.s.shared.evolved++ // the buckets of the indexes are new
	return markChecked(b.s.tx, b.s.meta)
}

// record adds the entries of a record.
func (b *rebuild) record(key, value []byte) error {
	record, err := b.decode(value)
	if err != nil {
		return err
	}
	if b.keyOf != nil {
		own, err := b.keyOf(record)
		if err == nil && !bytes.Equal(own, key) {
			err = fmt.Errorf("the record has the key %s", formatKey(own))
		}
		if err != nil {
			return err
		}
	}
	for _, x := range b.shape.indexes {
		err := b.s.addEntries(x, key, record)
		if errors.Is(err, ErrDuplicate) && len(b.duplicates) < duplicatesMax {
			b.duplicates = append(b.duplicates, fmt.Errorf("key %s: %w", formatKey(key), err))
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// emptyIndex replaces the bucket of an index by an empty one.
func (s *session) emptyIndex(x *index) error {
	err := s.data.DeleteBucket(x.bucket())
	if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
		return err
	}
	bucket, err := s.data.CreateBucket(x.bucket())
	if err != nil {
		return err
	}
	_, err = s.index(x) // makes room in s.indexes
	s.indexes[x.number] = bucket
	return err
}

// addEntries adds the entries of a record to an index that has none of them.
func (s *session) addEntries(x *index, key []byte, record reflect.Value) error {
	bucket, err := s.index(x)
	if err != nil {
		return err
	}
	change := indexChange{bucket: bucket, unique: x.Unique}
	change.adds = x.appendEntries(nil, record)
	if err := change.check(x, key); err != nil {
		return err
	}
	return change.apply(s, key)
}
