package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

// Put stores a record, in place of one with the same key. The record is not kept. The error is
// [ErrDuplicate], and nothing is changed, if another record has its value in a unique index.
//
// If the tag of the key has the option auto and the key is zero, the record is new, and *r gets the
// next number as its key. It keeps that if the transaction is rolled back, and another record may
// get the number then: make it zero before the record is stored again.
func (c *Collection[T]) Put(tx *stoat.Tx, r *T) error { return c.put(tx, r, false) }

// Insert stores a record whose key must be new: if there is one with the key, the error is
// [ErrExists]. In all else it is like Put.
func (c *Collection[T]) Insert(tx *stoat.Tx, r *T) error { return c.put(tx, r, true) }

func (c *Collection[T]) put(tx *stoat.Tx, r *T, insert bool) error {
	s, err := c.writer(tx)
	if err != nil {
		return err
	}
	if r == nil {
		return c.wrap(errors.New("there is no record to store, but a nil pointer"))
	}
	given, err := c.give(s, r)
	if err != nil {
		return c.wrap(err)
	}
	if s.key, err = c.appendKeyOf(s.key[:0], r); err != nil {
		return c.wrap(err)
	}
	if err = c.place(s, r, insert || given); err != nil && given {
		c.takeBack(r)
	}
	return c.wrapKey(s.key, err)
}

// place stores a record under the session's key, which must be new if insert is true.
func (c *Collection[T]) place(s *session, r *T, insert bool) error {
	old, err := s.find(s.key)
	if err != nil {
		return err
	}
	if old != nil && insert {
		if gone, err := c.expired(s.tx, old); !gone || err != nil {
			return cmp.Or(err, ErrExists)
		}
	}
	if err := c.replace(s, s.key, old, r); err != nil || old != nil {
		return err
	}
	return c.advance(s, r)
}

// find returns the stored record with the key, or nil if there is none.
func (s *session) find(key []byte) ([]byte, error) {
	old, err := s.data.Get(key)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, nil
	}
	return old, err
}

// replace stores a record, in place of the stored one, which is nil if there is none.
func (c *Collection[T]) replace(s *session, key, old []byte, r *T) error {
	var err error
	if s.value, err = c.encode(s.value[:0], r); err != nil {
		return err
	}
	if old != nil && bytes.Equal(old, s.value) {
		return nil
	}
	if c.codec != CodecBinary {
		if r, err = c.kept(key, s.value); err != nil {
			return err
		}
	}
	return c.store(s, key, old, s.value, r)
}

// kept returns what a codec that decides what it stores has kept of a record, which is what indexes
// must have.
func (c *Collection[T]) kept(key, value []byte) (*T, error) {
	r := new(T)
	if err := c.decode(value, r); err != nil {
		return nil, err
	}
	own, err := c.appendKeyOf(nil, r)
	if err == nil && !bytes.Equal(own, key) {
		err = fmt.Errorf("the codec %s does not store the key: it would become %s", c.codec,
			formatKey(own))
	}
	return r, err
}

// store changes a record and all that depends on it: old is what is stored, nil for nothing, and
// value what is to be stored, which *r is decoded to; r is nil if the record is to be deleted. It
// finds out first what can be wrong, so that after an error of the caller nothing is changed.
func (c *Collection[T]) store(s *session, key, old, value []byte, r *T) error {
	changes, err := c.indexChanges(s, key, old, r)
	if err != nil {
		return err
	}
	n, err := s.count()
	if err != nil {
		return err
	}
	if r != nil {
		err = s.data.Put(key, value)
	} else {
		err = s.data.Delete(key)
	}
	if err != nil {
		return err
	}
	for _, change := range changes {
		if err := change.apply(key); err != nil {
			return err
		}
	}
	if (old == nil) == (r == nil) {
		return nil
	}
	if r != nil {
		n.records++
	} else {
		n.records--
	}
	return n.change(s.tx)
}

// Update calls fn with the record that has the key, and stores what fn has made of it. The error is
// [stoat.ErrNotFound] if there is none; if fn returns an error or changes the key, nothing is
// stored.
func (c *Collection[T]) Update(tx *stoat.Tx, key Key, fn func(*T) error) error {
	s, err := c.writer(tx)
	if err != nil {
		return err
	}
	encoded, err := c.appendKey(nil, key, false)
	if err != nil {
		return c.wrap(err)
	}
	return c.wrapKey(encoded, c.update(s, encoded, fn))
}

func (c *Collection[T]) update(s *session, key []byte, fn func(*T) error) error {
	old, err := c.live(s, key)
	if err != nil {
		return err
	}
	return c.alter(s, key, old, fn)
}

// alter replaces a stored record by what fn makes of it.
func (c *Collection[T]) alter(s *session, key, old []byte, fn func(*T) error) error {
	r := new(T)
	if err := c.decode(old, r); err != nil {
		return err
	}
	if err := fn(r); err != nil {
		return err
	}
	var err error
	if s.key, err = c.appendKeyOf(s.key[:0], r); err != nil {
		return err
	}
	if !bytes.Equal(s.key, key) {
		return fmt.Errorf("the update has changed the key to %s: delete the record and put the new "+
			"one", formatKey(s.key))
	}
	if old, err = s.find(key); err != nil { // fn may have written it, too
		return err
	}
	return c.replace(s, key, old, r)
}

// Delete deletes the record with the key; it is no error if there is none.
func (c *Collection[T]) Delete(tx *stoat.Tx, key Key) error {
	s, err := c.writer(tx)
	if err != nil {
		return err
	}
	if s.key, err = c.appendKey(s.key[:0], key, false); err != nil {
		return c.wrap(err)
	}
	return c.wrapKey(s.key, c.delete(s, s.key))
}

func (c *Collection[T]) delete(s *session, key []byte) error {
	old, err := s.find(key)
	if err != nil || old == nil {
		return err
	}
	return c.store(s, key, old, nil, nil)
}

// Clear deletes all records. Its cost does not grow with their number.
func (c *Collection[T]) Clear(tx *stoat.Tx) error {
	s, err := c.writable(tx)
	if err != nil {
		return err
	}
	return c.wrap(c.clear(s))
}

func (c *Collection[T]) clear(s *session) error {
	n, err := s.count()
	if err == nil {
		err = n.change(s.tx)
	}
	if err != nil {
		return err
	}
	for _, x := range c.shape.indexes {
		bucket, err := s.index(x)
		if err == nil {
			err = bucket.DeleteRange(stoat.Range{})
		}
		if err != nil {
			return err
		}
	}
	if err := s.data.DeleteRange(stoat.Range{}); err != nil {
		return err
	}
	n.records = 0
	return nil
}
