package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/stoatdb/stoat"
)

// rebuild is the making anew of all that depends on the records of a collection. It knows their
// type by its shape only, so that there need not be one.
type rebuild struct {
	name   string
	s      *session
	shape  *shape
	decode func(value []byte) (reflect.Value, error) // which the next call may change
	keyOf  func(record reflect.Value) ([]byte, error)

	duplicates []error
}

// duplicatesMax is how many values that are not unique a rebuild tells.
const duplicatesMax = 10

// run makes indexes, count and last key what the records say. If a unique index cannot have all of
// them, the error says which.
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
	b.s.shared.evolved++ // the indexes are other buckets now
	return keepChecked(b.s.tx, b.s.meta)
}

// record makes the entries of a record.
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

// emptyIndex makes the bucket of an index a new one.
func (s *session) emptyIndex(x *index) error {
	err := s.data.DeleteBucket(x.bucket())
	if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
		return err
	}
	bucket, err := s.data.CreateBucket(x.bucket())
	if err != nil {
		return err
	}
	_, err = s.index(x) // which makes room
	s.indexes[x.number] = bucket
	return err
}

// addEntries adds the entries of a record to an index that has none of it.
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
	return change.apply(key)
}
