package record

import (
	"fmt"
	"math"
	"reflect"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// A collection that assigns keys keeps the last assigned key in the sequence of its bucket. No
// record has a greater key.

// assignKey gives the record the next number as its key, if the collection assigns keys and the key
// is zero. It reports whether it did. The number is used up only by advanceKey.
func (c *collection) assignKey(s *session, r reflect.Value) (bool, error) {
	if c.shape.auto == nil {
		return false, nil
	}
	field := c.shape.auto.value(r)
	if !field.IsZero() {
		return false, nil
	}
	last, err := s.data.Sequence()
	if err != nil {
		return false, err
	}
	if last == math.MaxUint64 || !setNumber(field, last+1) {
		return false, fmt.Errorf("the key after %d does not fit field %s of type %s: use a wider "+
			"type: %w", last, c.shape.auto.name, c.shape.auto.typ, stoat.ErrTooLarge)
	}
	return true, nil
}

// unassignKey resets the key that assignKey gave to a record that was not stored.
func (c *collection) unassignKey(r reflect.Value) {
	c.shape.auto.value(r).SetZero()
}

// advanceKey makes the key of a stored record the last assigned one, if it is greater.
func (c *collection) advanceKey(s *session, r reflect.Value) error {
	if c.shape.auto == nil {
		return nil
	}
	key := number(c.shape.auto.value(r))
	last, err := s.data.Sequence()
	if err != nil || key <= last {
		return err
	}
	return s.data.SetSequence(key)
}

// setNumber sets an integer, and reports whether n fits.
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

// catchUpKey makes the highest stored key the last assigned one, if it is greater: that of a record
// stored before the collection assigned keys.
func (c *collection) catchUpKey(tx *stoat.Tx) error {
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
		return fmt.Errorf("the sequence of assigned keys must move to %d, which takes a writable "+
			"transaction: %w", highest, stoat.ErrReadOnly)
	}
	return s.data.SetSequence(highest)
}

// highest returns the highest integer key, or 0, and the last assigned one.
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
