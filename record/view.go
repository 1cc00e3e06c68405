package record

import (
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// View is the records of a collection in the order of an index. It is safe for concurrent use;
// transactions are not.
type View[T any] struct{ core view }

// view is a [View] that knows the type of the records by their shape only.
type view struct {
	c     *collection
	index *index
	err   error
}

// By returns a view of the records in the order of the named index; an index created by a tag has
// the name of its field. If the index does not exist, all methods of the view return an error.
func (c *Collection[T]) By(name string) *View[T] { return &View[T]{c.core.by(name)} }

func (c *collection) by(name string) view {
	v := view{c: c, index: c.shape.indexNamed(name)}
	if v.index == nil {
		v.err = c.wrap(fmt.Errorf("there is no index %q: add it to Options.Indexes, or add the option "+
			"index to the tag of the field", name))
	}
	return v
}

// Get returns the first record with the values, which is the only one if the index is unique. The
// error is [stoat.ErrNotFound] if no record has them.
func (v *View[T]) Get(tx *stoat.Tx, values ...Value) (*T, error) {
	prefix, err := v.core.prefix(values, allValues)
	if err != nil {
		return nil, err
	}
	only := stoat.Prefix(prefix)
	if v.core.c.shape.expires == nil {
		only.Limit = 1 // otherwise the first may have expired
	}
	for r, err := range v.scan(tx, only) {
		return r, err
	}
	return nil, v.core.notFound(prefix)
}

// Update is [Collection.Update] for the record with the value in the index, which must be unique;
// several values are a [tuple.Tuple]. It may change them.
func (v *View[T]) Update(tx *stoat.Tx, values Key, fn func(*T) error) error {
	return v.core.update(tx, values, func(r reflect.Value) error { return fn(pointerTo[T](r)) })
}

func (v *view) update(tx *stoat.Tx, values Key, fn func(reflect.Value) error) error {
	s, entry, key, err := v.owner(tx, values)
	if err != nil {
		return err
	}
	if key == nil {
		return v.notFound(entry)
	}
	return v.c.wrapKey(key, v.c.update(s, key, fn))
}

// Delete deletes the record with the value in the index, which must be unique. It is not an error
// if no record has it.
func (v *View[T]) Delete(tx *stoat.Tx, values Key) error { return v.core.delete(tx, values) }

func (v *view) delete(tx *stoat.Tx, values Key) error {
	s, _, key, err := v.owner(tx, values)
	if err != nil || key == nil {
		return err
	}
	return v.c.wrapKey(key, v.c.delete(s, key))
}

// owner returns the session, the index entry for the values, and the primary key of the record that
// has them, which is nil if there is none.
func (v *view) owner(tx *stoat.Tx, values Key) (s *session, entry, key []byte, err error) {
	if v.err != nil {
		return nil, nil, nil, v.err
	}
	if !v.index.Unique {
		return nil, nil, nil, v.wrap(errors.New("it is not unique: change records by key instead"))
	}
	if s, err = v.c.writer(tx); err != nil {
		return nil, nil, nil, err
	}
	list, ok := values.(tuple.Tuple)
	if !ok {
		list = tuple.Tuple{values}
	}
	if entry, err = appendArguments(nil, v.index.columns, list, allValues); err == nil {
		key, err = s.owner(v.index, entry)
	}
	return s, entry, key, v.wrap(err)
}

// notFound returns the error that no record has the values.
func (v *view) notFound(entry []byte) error {
	return v.c.wrap(fmt.Errorf("index %s, value %s: %w", v.index.Name, formatKey(entry),
		stoat.ErrNotFound))
}

// All returns an iterator over all records in the order of the index, and by key where the indexed
// values are equal. If one of the fields is a list, a record appears once for each distinct
// element. The body may write: the loop iterates over the index as it is when the loop starts,
// reads each record as it is when the loop gets there, and leaves out records deleted meanwhile.
func (v *View[T]) All(tx *stoat.Tx) iter.Seq2[*T, error] { return v.Range(tx, nil, nil) }

// With is like All for the records with the values, which may be fewer than the index has fields.
func (v *View[T]) With(tx *stoat.Tx, values ...Value) iter.Seq2[*T, error] {
	prefix, err := v.core.prefix(values, leadingValues)
	if err != nil {
		return broken[T](err)
	}
	return v.scan(tx, stoat.Prefix(prefix))
}

// Range is like All for the records with values from low, inclusive, to high, exclusive. Both may
// have fewer elements than the index has fields; an empty low or high means no bound.
func (v *View[T]) Range(tx *stoat.Tx, low, high tuple.Tuple) iter.Seq2[*T, error] {
	r, err := v.core.span(low, high)
	if err != nil {
		return broken[T](err)
	}
	return v.scan(tx, r)
}

// span returns the range of the entries with values from low to high.
func (v *view) span(low, high tuple.Tuple) (r stoat.Range, err error) {
	if v.err != nil {
		return r, v.err
	}
	if r.Start, err = appendArguments(nil, v.index.columns, low, leadingValues); err == nil {
		r.End, err = appendArguments(nil, v.index.columns, high, leadingValues)
	}
	return r, v.wrap(err)
}

// prefix returns the prefix of the entries with the values.
func (v *view) prefix(values []Value, n arity) ([]byte, error) {
	if v.err != nil {
		return nil, v.err
	}
	prefix, err := appendArguments(nil, v.index.columns, listOf(values), n)
	return prefix, v.wrap(err)
}

// wrap adds the name of the index to err; nil stays nil.
func (v *view) wrap(err error) error {
	if err == nil {
		return nil
	}
	return v.c.wrap(fmt.Errorf("index %s: %w", v.index.Name, err))
}

// scan returns an iterator over the records of the entries in the range.
func (v *View[T]) scan(tx *stoat.Tx, r stoat.Range) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		err := v.core.walk(tx, r, func(key, value []byte) bool {
			return yieldStored(v.core.c, tx, key, value, yield)
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// walk calls fn for the stored records of the entries in the range, until it returns false.
func (v *view) walk(tx *stoat.Tx, r stoat.Range, fn func(key, value []byte) bool) error {
	s, err := v.c.session(tx)
	if err != nil {
		return err
	}
	for key, err := range s.entriesIn(v.index, r) {
		var value []byte
		if err == nil {
			value, err = s.owned(v.index, key)
		}
		if err != nil {
			return v.wrap(err)
		}
		if value != nil && !fn(key, value) {
			return nil
		}
	}
	return nil
}

// broken returns an iterator that yields only an error.
func broken[T any](err error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) { yield(nil, err) }
}
