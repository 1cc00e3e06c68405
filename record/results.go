package record

import (
	"iter"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// All returns an iterator over the records. An error ends the loop.
func (q Query[T]) All(tx *stoat.Tx) iter.Seq2[*T, error] {
	q.core.loop = true
	return func(yield func(*T, error) bool) {
		loop(yield, func(each func(*T) error) error {
			return q.core.exec(tx, needs{whole: true}, func(i *item) error {
				record, err := recordOf[T](i)
				if err != nil {
					return err
				}
				return each(record)
			})
		})
	}
}

// loop calls fn with a function that yields, and then yields fn's error, if any.
func loop[V any](yield func(V, error) bool, fn func(each func(V) error) error) {
	stopped := false
	err := fn(func(v V) error {
		if !yield(v, nil) {
			stopped = true
			return errStop
		}
		return nil
	})
	if err != nil && !stopped {
		var none V
		yield(none, err)
	}
}

// First returns the first record, or [stoat.ErrNotFound].
func (q Query[T]) First(tx *stoat.Tx) (*T, error) {
	q.core.limit = 1
	for r, err := range q.All(tx) {
		return r, err
	}
	return nil, q.core.c.wrap(stoat.ErrNotFound)
}

// Keys returns an iterator over the primary keys. It reads no records if an index decides all
// conditions.
func (q Query[T]) Keys(tx *stoat.Tx) iter.Seq2[tuple.Tuple, error] { return q.core.keys(tx) }

func (q query) keys(tx *stoat.Tx) iter.Seq2[tuple.Tuple, error] {
	q.loop = true
	return func(yield func(tuple.Tuple, error) bool) {
		loop(yield, func(each func(tuple.Tuple) error) error {
			return q.exec(tx, needs{}, func(i *item) error {
				key, err := tuple.Decode(i.key)
				if err != nil {
					return err
				}
				return each(key)
			})
		})
	}
}

// Rows returns an iterator over the fields chosen by [Query.Fields], or all fields, without
// decoding whole records.
func (q Query[T]) Rows(tx *stoat.Tx) iter.Seq2[Row, error] { return q.core.rows(tx) }

func (q query) rows(tx *stoat.Tx) iter.Seq2[Row, error] {
	q.loop = true
	return func(yield func(Row, error) bool) {
		loop(yield, func(each func(Row) error) error {
			return q.exec(tx, needs{whole: true}, func(i *item) error {
				row, err := i.row(q.fields)
				if err != nil {
					return err
				}
				return each(row)
			})
		})
	}
}
