package record

import (
	"fmt"
	"math"
	"reflect"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// A collection that gives keys has the last one in the sequence of its bucket: no key was given
// that is greater, and no record has one.

// give makes the key of a record the next number if the collection gives keys and it is zero, and
// reports whether that is so. The number counts as given once advance was called.
func (c *Collection[T]) give(s *session, r *T) (bool, error) {
	if c.shape.auto == nil {
		return false, nil
	}
	field := c.shape.auto.of(reflect.ValueOf(r).Elem())
	if !field.IsZero() {
		return false, nil
	}
	last, err := s.data.Sequence()
	if err != nil {
		return false, err
	}
	if last == math.MaxUint64 || !setNumber(field, last+1) {
		return false, fmt.Errorf("the key after %d does not fit field %s of type %s: make the type "+
			"wider: %w", last, c.shape.auto.name, c.shape.auto.typ, stoat.ErrTooLarge)
	}
	return true, nil
}

// takeBack makes a key zero that was given to a record that is not stored.
func (c *Collection[T]) takeBack(r *T) { c.shape.auto.of(reflect.ValueOf(r).Elem()).SetZero() }

// advance makes the key of a record that is now stored the last one if it is greater than that.
func (c *Collection[T]) advance(s *session, r *T) error {
	if c.shape.auto == nil {
		return nil
	}
	key := number(c.shape.auto.of(reflect.ValueOf(r).Elem()))
	last, err := s.data.Sequence()
	if err != nil || key <= last {
		return err
	}
	return s.data.SetSequence(key)
}

// setNumber sets an integer, and reports whether it can have the value.
func setNumber(v reflect.Value, n uint64) bool {
	switch {
	case v.CanUint() && !v.OverflowUint(n):
		v.SetUint(n)
	case v.CanInt() && n <= math.MaxInt64 && !v.OverflowInt(int64(n)):
		v.SetInt(int64(n))
	default:
		return false
	}
	return true
}

// number returns the value of an integer, or 0 if it is negative.
func number(v reflect.Value) uint64 {
	if v.CanUint() {
		return v.Uint()
	}
	return uint64(max(v.Int(), 0))
}

// catchUp makes the highest key the last one if it is greater than that: of records that were
// stored before the collection gave keys.
func (c *Collection[T]) catchUp(tx *stoat.Tx) error {
	if c.shape.auto == nil {
		return nil
	}
	s, err := c.session(tx)
	if err != nil {
		return err
	}
	highest, last, err := s.highest()
	if err != nil || highest <= last {
		return err
	}
	if !tx.Writable() {
		return fmt.Errorf("the keys that it gives must go on after %d, which takes a transaction that "+
			"can write: %w", highest, stoat.ErrReadOnly)
	}
	return s.data.SetSequence(highest)
}

// highest returns the highest key of a collection that gives keys, or 0, and the last one.
func (s *session) highest() (highest, last uint64, err error) {
	for key := range s.data.Keys(stoat.Range{Reverse: true, Limit: 1}) {
		values, err := tuple.Decode(key)
		if err != nil {
			return 0, 0, err
		}
		switch n := values[0].(type) {
		case int64:
			highest = uint64(max(n, 0))
		case uint64:
			highest = n
		}
	}
	if err := s.tx.Err(); err != nil {
		return 0, 0, err
	}
	last, err = s.data.Sequence()
	return highest, last, err
}
