package record

import (
	"errors"
	"fmt"
	"iter"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// View is the records of a collection in the order of an index. It is safe for concurrent use, as
// transactions are not.
type View[T any] struct {
	c     *Collection[T]
	index *index
	err   error
}

// By returns the records in the order of the index with the name, which is that of the field if the
// tag of a field has made it. If there is none, all methods of the view return an error.
func (c *Collection[T]) By(name string) *View[T] {
	v := &View[T]{c: c, index: c.shape.indexNamed(name)}
	if v.index == nil {
		v.err = c.wrap(fmt.Errorf("there is no index %q: add it to Options.Indexes, or the option "+
			"index to the tag of the field", name))
	}
	return v
}

// Get returns the first record that has the values; with a unique index it is the only one. The
// error is [stoat.ErrNotFound] if there is none.
func (v *View[T]) Get(tx *stoat.Tx, values ...Value) (*T, error) {
	if v.err != nil {
		return nil, v.err
	}
	prefix, err := v.prefix(values, false)
	if err != nil {
		return nil, err
	}
	only := stoat.Prefix(prefix)
	if v.c.shape.expires == nil {
		only.Limit = 1 // else the first may have expired
	}
	for r, err := range v.scan(tx, only) {
		return r, err
	}
	return nil, v.notFound(prefix)
}

// Update is [Collection.Update] of the record that has the values in the index, which must be
// unique; several are a [tuple.Tuple]. It may change them.
func (v *View[T]) Update(tx *stoat.Tx, values Key, fn func(*T) error) error {
	s, entry, key, err := v.owner(tx, values)
	if err != nil {
		return err
	}
	if key == nil {
		return v.notFound(entry)
	}
	return v.c.wrapKey(key, v.c.update(s, key, fn))
}

// Delete deletes the record that has the values in the index, which must be unique; it is no error
// if there is none.
func (v *View[T]) Delete(tx *stoat.Tx, values Key) error {
	s, _, key, err := v.owner(tx, values)
	if err != nil || key == nil {
		return err
	}
	return v.c.wrapKey(key, v.c.delete(s, key))
}

// owner returns the primary key, nil if there is none, of the record that is to be changed, with
// the session and the entry of the index.
func (v *View[T]) owner(tx *stoat.Tx, values Key) (s *session, entry, key []byte, err error) {
	if v.err != nil {
		return nil, nil, nil, v.err
	}
	if !v.index.Unique {
		return nil, nil, nil, v.wrap(errors.New("it is not unique: change records by their keys"))
	}
	if s, err = v.c.writer(tx); err != nil {
		return nil, nil, nil, err
	}
	list, ok := values.(tuple.Tuple)
	if !ok {
		list = tuple.Tuple{values}
	}
	if entry, err = appendArguments(nil, v.index.columns, list, false); err == nil {
		key, err = s.owner(v.index, entry)
	}
	return s, entry, key, v.wrap(err)
}

// notFound returns the error that no record has the values.
func (v *View[T]) notFound(entry []byte) error {
	return v.c.wrap(fmt.Errorf("index %s, value %s: %w", v.index.Name, formatKey(entry),
		stoat.ErrNotFound))
}

// All returns a loop over all records in the order of the index, and of their keys where its values
// are the same. If one of its fields is a list, a record comes once for each different element.
// The body may write: the loop goes over the index as it is when it starts, comes to the records as
// they are by then, and leaves out those that were deleted meanwhile.
func (v *View[T]) All(tx *stoat.Tx) iter.Seq2[*T, error] { return v.Range(tx, nil, nil) }

// With returns a loop like All over the records that have the values, which may be fewer than the
// index has fields.
func (v *View[T]) With(tx *stoat.Tx, values ...Value) iter.Seq2[*T, error] {
	if v.err != nil {
		return broken[T](v.err)
	}
	prefix, err := v.prefix(values, true)
	if err != nil {
		return broken[T](err)
	}
	return v.scan(tx, stoat.Prefix(prefix))
}

// Range returns a loop like All over the records with values from low up to but without high. Both
// may have fewer elements than the index has fields; an empty low is the first record, and an empty
// high has no end.
func (v *View[T]) Range(tx *stoat.Tx, low, high tuple.Tuple) iter.Seq2[*T, error] {
	if v.err != nil {
		return broken[T](v.err)
	}
	var r stoat.Range
	var err error
	if r.Start, err = appendArguments(nil, v.index.columns, low, true); err == nil {
		r.End, err = appendArguments(nil, v.index.columns, high, true)
	}
	if err != nil {
		return broken[T](v.wrap(err))
	}
	return v.scan(tx, r)
}

// prefix returns what entries with the values begin with.
func (v *View[T]) prefix(values []Value, part bool) ([]byte, error) {
	list := make(tuple.Tuple, len(values))
	for i, value := range values {
		list[i] = value
	}
	prefix, err := appendArguments(nil, v.index.columns, list, part)
	return prefix, v.wrap(err)
}

// wrap returns err with the index that it is about; nil stays nil.
func (v *View[T]) wrap(err error) error {
	if err == nil {
		return nil
	}
	return v.c.wrap(fmt.Errorf("index %s: %w", v.index.Name, err))
}

// scan returns a loop over the records of the entries in the range.
func (v *View[T]) scan(tx *stoat.Tx, r stoat.Range) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		s, err := v.c.session(tx)
		if err != nil {
			yield(nil, err)
			return
		}
		for key, err := range s.entriesIn(v.index, r) {
			var value []byte
			if err == nil {
				value, err = s.owned(v.index, key)
			}
			if err != nil {
				yield(nil, v.wrap(err))
				return
			}
			if value != nil && !v.c.yield(tx, key, value, yield) {
				return
			}
		}
	}
}

// entriesIn returns a loop over the primary keys of the entries in a range of the index.
func (s *session) entriesIn(x *index, r stoat.Range) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		bucket, err := s.index(x)
		if err != nil {
			yield(nil, err)
			return
		}
		if x.Unique {
			for _, key := range bucket.Scan(r) {
				if !yield(key, nil) {
					return
				}
			}
		} else {
			for entry := range bucket.Keys(r) {
				key, err := x.primary(entry)
				if !yield(key, err) || err != nil {
					return
				}
			}
		}
		if err := s.tx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// owner returns the primary key that a unique index has for the values, or nil.
func (s *session) owner(x *index, values []byte) ([]byte, error) {
	bucket, err := s.index(x)
	if err != nil {
		return nil, err
	}
	key, err := bucket.Get(values)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, nil
	}
	return key, err
}

// owned returns the stored record that an entry of an index belongs to. A loop over an index in a
// transaction that writes may come to the entry of a record that was deleted since the loop began;
// then it is nil.
func (s *session) owned(x *index, key []byte) ([]byte, error) {
	value, err := s.find(key)
	if err == nil && value == nil && !s.tx.Writable() {
		err = fmt.Errorf("index %s has an entry of the key %s, and there is no such record: %w",
			x.Name, formatKey(key), stoat.ErrCorrupt)
	}
	return value, err
}

// broken returns a loop that ends with an error.
func broken[T any](err error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) { yield(nil, err) }
}
