package record

import (
	"reflect"

	"github.com/stoatdb/stoat"
)

// Delete deletes the records of the result and returns their number. It updates indexes and count,
// and [Collection.Watch] reports the deletions. Limit, Offset and After select records in the
// stated order; without an order, the index decides which records they select. Deleting all records
// of a collection costs the same however many there are.
//
// Delete uses no memory beyond that of the transaction, which can be larger than memory. After an
// error, roll the transaction back.
func (q Query[T]) Delete(tx *stoat.Tx) (n uint64, err error) { return q.core.delete(tx) }

func (q query) delete(tx *stoat.Tx) (n uint64, err error) {
	if q.err != nil {
		return 0, q.err
	}
	s, err := q.c.writer(tx)
	if err != nil {
		return 0, err
	}
	if q.entire() && len(q.where)+len(q.filters) == 0 {
		if n, err = q.c.liveCount(s); err != nil {
			return 0, q.c.wrap(err)
		}
		return n, q.c.wrap(q.c.clear(s))
	}
	q.loop, q.stays = true, true
	err = q.unordered().exec(tx, needs{whole: true}, func(i *item) error {
		old, err := s.find(i.key)
		if err != nil || old == nil {
			return err
		}
		n++
		return i.about(q.c.remove(s, i.key, old))
	})
	return n, err
}

// Update calls fn with each record of the result, stores the modified record, and returns the
// number of records. It visits each record once, whatever fn changes, in the stated order. If fn
// returns an error or changes a key, Update stops with an error, and the transaction must be rolled
// back. It otherwise behaves like [Query.Delete], except that a query over several ranges of an
// index, as with In, keeps the keys of the result in memory.
func (q Query[T]) Update(tx *stoat.Tx, fn func(*T) error) (n uint64, err error) {
	return q.core.update(tx, func(r reflect.Value) error { return fn(pointerTo[T](r)) })
}

func (q query) update(tx *stoat.Tx, fn func(reflect.Value) error) (n uint64, err error) {
	if q.err != nil {
		return 0, q.err
	}
	s, err := q.c.writer(tx)
	if err != nil {
		return 0, err
	}
	p, err := q.plan()
	if err != nil {
		return 0, err
	}
	q.loop, q.stays = true, p.index == nil // keys do not change
	err = q.exec(tx, needs{whole: true}, func(i *item) error {
		old, err := s.find(i.key)
		if err != nil || old == nil {
			return err
		}
		n++
		return i.about(q.c.alter(s, i.key, old, fn))
	})
	return n, err
}
