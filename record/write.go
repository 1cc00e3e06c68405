package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/stoatdb/stoat"
)

// Put stores a record, replacing any with the same key. It does not retain r. If another record has
// its value in a unique index, the error is [ErrDuplicate] and nothing changes.
//
// If the key has the tag option auto and is zero, the record is new, and *r is given the next
// number as its key. It keeps that key even if the transaction is rolled back, and another record
// may then get the same number: reset the key to zero before storing the record again.
func (c *Collection[T]) Put(tx *stoat.Tx, r *T) error {
	return c.core.put(tx, valueOf(r), upsert)
}

// Insert is Put for a record whose key must be new; the error is [ErrExists] if it is not.
func (c *Collection[T]) Insert(tx *stoat.Tx, r *T) error {
	return c.core.put(tx, valueOf(r), insert)
}

// putMode says whether a record may replace another one.
type putMode bool

const (
	upsert putMode = false
	insert putMode = true // the key must be new
)

// errNilRecord is returned for a nil pointer instead of a record.
var errNilRecord = errors.New("the record is a nil pointer")

func (c *collection) put(tx *stoat.Tx, r reflect.Value, mode putMode) error {
	s, err := c.writer(tx)
	if err != nil {
		return err
	}
	if !r.IsValid() {
		return c.wrap(errNilRecord)
	}
	assigned, err := c.assignKey(s, r)
	if err != nil {
		return c.wrap(err)
	}
	if s.key, err = c.appendKeyOf(s.key[:0], r); err != nil {
		return c.wrap(err)
	}
	if assigned {
		mode = insert
	}
	if err = c.write(s, r, mode); err != nil && assigned {
		c.unassignKey(r)
	}
	return c.wrapKey(s.key, err)
}

// write stores a record under the session's key.
func (c *collection) write(s *session, r reflect.Value, mode putMode) error {
	old, err := s.find(s.key)
	if err != nil {
		return err
	}
	if old != nil && mode == insert {
		if gone, err := c.expired(s.tx, old); !gone || err != nil {
			return cmp.Or(err, ErrExists)
		}
	}
	if err := c.replace(s, s.key, old, r); err != nil || old != nil {
		return err
	}
	return c.advanceKey(s, r)
}

// find returns the stored record with the given key, or nil.
func (s *session) find(key []byte) ([]byte, error) {
	old, err := s.data.Get(key)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, nil
	}
	return old, err
}

// replace encodes a record and stores it in place of old, which is nil if the record is new.
func (c *collection) replace(s *session, key, old []byte, r reflect.Value) error {
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

// kept returns the record as decoding will return it, for the indexes: a codec other than
// CodecBinary decides which fields it stores.
func (c *collection) kept(key, value []byte) (reflect.Value, error) {
	r := c.newRecord()
	if err := c.decode(value, r); err != nil {
		return r, err
	}
	own, err := c.appendKeyOf(nil, r)
	if err == nil && !bytes.Equal(own, key) {
		err = fmt.Errorf("the codec %s does not store the key: it would become %s", c.codec,
			formatKey(own))
	}
	return r, err
}

// store replaces the stored record old, or nil for none, by value, which is the encoding of r; an
// invalid r deletes the record. It updates the indexes and the count. It first checks everything
// that the caller can get wrong, so that nothing has changed after such an error.
func (c *collection) store(s *session, key, old, value []byte, r reflect.Value) error {
	if err := c.announce(s, key, old); err != nil {
		return err
	}
	return c.place(s, key, old, value, r)
}

// place is store without telling the layer above.
func (c *collection) place(s *session, key, old, value []byte, r reflect.Value) error {
	changes, err := c.indexChanges(s, key, old, r)
	if err != nil {
		return err
	}
	n, err := s.count()
	if err != nil {
		return err
	}
	if r.IsValid() {
		err = s.data.Put(key, value)
	} else {
		err = s.data.Delete(key)
	}
	if err != nil {
		return err
	}
	for _, change := range changes {
		if err := change.apply(s, key); err != nil {
			return err
		}
	}
	s.changes = changes
	if (old != nil) == r.IsValid() {
		return nil
	}
	if r.IsValid() {
		n.records++
	} else {
		n.records--
	}
	return n.change(s.tx)
}

// Update calls fn with the record that has the key and stores what fn makes of it. The error is
// [stoat.ErrNotFound] if the record does not exist. If fn returns an error or changes the key,
// nothing is stored.
func (c *Collection[T]) Update(tx *stoat.Tx, key Key, fn func(*T) error) error {
	return c.core.updateKey(tx, key, func(r reflect.Value) error { return fn(pointerTo[T](r)) })
}

func (c *collection) updateKey(tx *stoat.Tx, key Key, fn func(reflect.Value) error) error {
	s, err := c.writer(tx)
	if err != nil {
		return err
	}
	encoded, err := c.appendKey(nil, key, allValues)
	if err != nil {
		return c.wrap(err)
	}
	return c.wrapKey(encoded, c.update(s, encoded, fn))
}

func (c *collection) update(s *session, key []byte, fn func(reflect.Value) error) error {
	old, err := c.live(s, key)
	if err != nil {
		return err
	}
	return c.alter(s, key, old, fn)
}

// alter replaces a stored record by what fn makes of it.
func (c *collection) alter(s *session, key, old []byte, fn func(reflect.Value) error) error {
	r := c.newRecord()
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
		return fmt.Errorf("the update changed the key to %s: delete the record and store a new one",
			formatKey(s.key))
	}
	if old, err = s.find(key); err != nil { // fn may have written it too
		return err
	}
	return c.replace(s, key, old, r)
}

// Delete deletes the record with the given key; it is not an error if it does not exist.
func (c *Collection[T]) Delete(tx *stoat.Tx, key Key) error { return c.core.deleteKey(tx, key) }

func (c *collection) deleteKey(tx *stoat.Tx, key Key) error {
	s, err := c.writer(tx)
	if err != nil {
		return err
	}
	if s.key, err = c.appendKey(s.key[:0], key, allValues); err != nil {
		return c.wrap(err)
	}
	return c.wrapKey(s.key, c.delete(s, s.key))
}

func (c *collection) delete(s *session, key []byte) error {
	old, err := s.find(key)
	if err != nil || old == nil {
		return err
	}
	return c.remove(s, key, old)
}

// remove deletes the stored record old.
func (c *collection) remove(s *session, key, old []byte) error {
	return c.store(s, key, old, nil, reflect.Value{})
}

// Clear deletes all records. Its cost does not depend on their number.
func (c *Collection[T]) Clear(tx *stoat.Tx) error {
	s, err := c.core.writable(tx)
	if err != nil {
		return err
	}
	return c.core.wrap(c.core.clear(s))
}

func (c *collection) clear(s *session) error {
	if c.tap != nil {
		return c.clearOneByOne(s)
	}
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
