package record

import (
	"github.com/stoatdb/stoat"
)

// Delete deletes the records of the result, and returns how many they were. Indexes and count
// change with them, and [Collection.Watch] tells them. Limit, Offset and After choose among the
// records, in the order that is stated; without one, which records they choose depends on the
// index. The result of all records is deleted at a cost that does not grow with their number.
//
// It takes no memory for what it deletes, beyond what the transaction does, which can be larger
// than memory. After an error, the transaction must be rolled back.
func (q Query[T]) Delete(tx *stoat.Tx) (n uint64, err error) {
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
	err = q.unordered().run(tx, needs{whole: true}, func(i *item[T]) error {
		old, err := s.find(i.key)
		if err != nil || old == nil {
			return err
		}
		n++
		return i.about(q.c.store(s, i.key, old, nil, nil))
	})
	return n, err
}

// Update calls fn with each record of the result, stores what fn has made of it, and returns how
// many they were. A record comes once, whatever fn changes in it, and in the order that is stated.
// If fn returns an error or changes a key, Update ends with that error, and the transaction must be
// rolled back. In all else it is like [Query.Delete]; but if the query takes several ranges of an
// index, as for In, it keeps the keys of the result in memory.
func (q Query[T]) Update(tx *stoat.Tx, fn func(*T) error) (n uint64, err error) {
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
	q.loop, q.stays = true, p.index == nil // as keys do not change
	err = q.run(tx, needs{whole: true}, func(i *item[T]) error {
		old, err := s.find(i.key)
		if err != nil || old == nil {
			return err
		}
		n++
		return i.about(q.c.alter(s, i.key, old, fn))
	})
	return n, err
}
