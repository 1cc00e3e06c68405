package record

import (
	"errors"
	"iter"
	"reflect"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// Get returns the record with the given key, or [stoat.ErrNotFound].
func (c *Collection[T]) Get(tx *stoat.Tx, key Key) (*T, error) {
	r := new(T)
	if err := c.GetInto(tx, key, r); err != nil {
		return nil, err
	}
	return r, nil
}

// GetInto is Get into *r, without allocating a new record. After an error, *r may be partly
// overwritten.
func (c *Collection[T]) GetInto(tx *stoat.Tx, key Key, r *T) error {
	return c.core.get(tx, key, valueOf(r))
}

// get reads the record with the given key into r.
func (c *collection) get(tx *stoat.Tx, key Key, r reflect.Value) error {
	data, err := c.records(tx)
	if err != nil {
		return err
	}
	var room [keyRoom]byte
	encoded, err := c.appendKey(room[:0], key, allValues)
	if err != nil {
		return c.wrap(err)
	}
	value, err := data.Get(encoded)
	if err == nil {
		var ok bool
		if ok, err = c.read(tx, value, r); err == nil && !ok {
			err = stoat.ErrNotFound
		}
	}
	return c.wrapKey(encoded, err)
}

// keyRoom is the size of a stack buffer that most encoded keys fit into.
const keyRoom = 64

// records returns the bucket of the records, to read one of them: unlike a session, it needs no
// memory until something is committed.
func (c *collection) records(tx *stoat.Tx) (stoat.Bucket, error) {
	if last := c.refs.last.Load(); last.isCurrent(tx) {
		if data := tx.Refer(last.data); data != nil {
			return *data, nil
		}
	}
	s, err := c.session(tx)
	if err != nil {
		return stoat.Bucket{}, err
	}
	return *s.data, nil
}

// Has reports whether a record with the given key exists.
func (c *Collection[T]) Has(tx *stoat.Tx, key Key) (bool, error) { return c.core.has(tx, key) }

func (c *collection) has(tx *stoat.Tx, key Key) (bool, error) {
	data, err := c.records(tx)
	if err != nil {
		return false, err
	}
	var room [keyRoom]byte
	encoded, err := c.appendKey(room[:0], key, allValues)
	if err != nil {
		return false, c.wrap(err)
	}
	if c.shape.expires == nil {
		ok, err := data.Has(encoded)
		return ok, c.wrap(err)
	}
	value, err := data.Get(encoded)
	if errors.Is(err, stoat.ErrNotFound) {
		return false, nil
	}
	gone := false
	if err == nil {
		gone, err = c.expired(tx, value)
	}
	return err == nil && !gone, c.wrapKey(encoded, err)
}

// Count returns the number of records. It reads one key, and counts the index entries of expired
// records that are not swept yet.
func (c *Collection[T]) Count(tx *stoat.Tx) (uint64, error) { return c.core.count(tx) }

func (c *collection) count(tx *stoat.Tx) (uint64, error) {
	s, err := c.session(tx)
	if err != nil {
		return 0, err
	}
	n, err := c.liveCount(s)
	return n, c.wrap(err)
}

// All returns an iterator over all records, in key order. As with [stoat.Tx.Scan], a loop sees the
// state when it starts. An error ends it.
func (c *Collection[T]) All(tx *stoat.Tx) iter.Seq2[*T, error] { return c.Range(tx, nil, nil) }

// Range is like All for the records with keys from low, inclusive, to high, exclusive. Both may
// have fewer elements than keys; an empty low or high means no bound.
func (c *Collection[T]) Range(tx *stoat.Tx, low, high tuple.Tuple) iter.Seq2[*T, error] {
	r, err := c.core.keyRange(low, high)
	if err != nil {
		return broken[T](c.core.wrap(err))
	}
	return c.scan(tx, r)
}

// With is like All for the records whose keys begin with the values.
func (c *Collection[T]) With(tx *stoat.Tx, values ...Value) iter.Seq2[*T, error] {
	prefix, err := c.core.appendKey(nil, listOf(values), leadingValues)
	if err != nil {
		return broken[T](c.core.wrap(err))
	}
	return c.scan(tx, stoat.Prefix(prefix))
}

// scan returns an iterator over the records in a range of encoded keys.
func (c *Collection[T]) scan(tx *stoat.Tx, r stoat.Range) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		s, err := c.core.session(tx)
		if err != nil {
			yield(nil, err)
			return
		}
		for key, value := range s.data.Scan(r) {
			if !yieldStored(c.core, tx, key, value, yield) {
				return
			}
		}
		if err := tx.Err(); err != nil {
			yield(nil, c.core.wrap(err))
		}
	}
}

// yieldStored yields a stored record, unless it has expired, and reports whether the loop goes on.
func yieldStored[T any](
	c *collection, tx *stoat.Tx, key, value []byte, yield func(*T, error) bool,
) bool {
	r := new(T)
	ok, err := c.read(tx, value, valueOf(r))
	if err != nil {
		yield(nil, c.wrapKey(key, err))
		return false
	}
	return !ok || yield(r, nil)
}

// listOf returns values as a tuple.
func listOf(values []Value) tuple.Tuple {
	list := make(tuple.Tuple, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}

// keyRange returns the range of encoded keys from low to high.
func (c *collection) keyRange(low, high tuple.Tuple) (stoat.Range, error) {
	var r stoat.Range
	var err error
	if len(low) > 0 {
		if r.Start, err = c.appendKey(nil, low, leadingValues); err != nil {
			return r, err
		}
	}
	if len(high) > 0 {
		r.End, err = c.appendKey(nil, high, leadingValues)
	}
	return r, err
}

// Keys returns an iterator over the keys of all records, in order. It reads no records, unless some
// have expired and are not swept yet.
func (c *Collection[T]) Keys(tx *stoat.Tx) iter.Seq2[tuple.Tuple, error] {
	return c.Query().OrderBy().Keys(tx)
}
