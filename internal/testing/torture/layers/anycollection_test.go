package layers

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// anyCollection is an open collection, whatever its type.
type anyCollection interface {
	put(tx *stoat.Tx, p person) error
	insert(tx *stoat.Tx, p person) error
	update(tx *stoat.Tx, p person) error
	remove(tx *stoat.Tx, id int64) error
	Clear(tx *stoat.Tx) error
	Count(tx *stoat.Tx) (uint64, error)
	Verify(tx *stoat.Tx) error
	// ask answers a query in its order, or by key if it has none.
	ask(tx *stoat.Tx, q recordQuery) ([]person, error)
	// by returns all persons in the order of an index.
	by(tx *stoat.Tx, index string) ([]person, error)
	watch(ctx context.Context, db *stoat.DB, q recordQuery) iter.Seq2[change, error]
}

// change is what one commit changed in the result of a query.
type change struct {
	at                      stoat.Position
	added, changed, removed []person
}

// typedCollection is a collection of one record type.
type typedCollection[T any] struct {
	*record.Collection[T]
	widen  func(*T) person
	narrow func(person) *T
}

func (c typedCollection[T]) put(tx *stoat.Tx, p person) error { return c.Put(tx, c.narrow(p)) }

func (c typedCollection[T]) insert(tx *stoat.Tx, p person) error {
	return c.Insert(tx, c.narrow(p))
}

func (c typedCollection[T]) update(tx *stoat.Tx, p person) error {
	return c.Update(tx, p.ID, func(old *T) error {
		*old = *c.narrow(p)
		return nil
	})
}

func (c typedCollection[T]) remove(tx *stoat.Tx, id int64) error { return c.Delete(tx, id) }

// query translates a query of the model.
func (c typedCollection[T]) query(q recordQuery) record.Query[T] {
	all := c.Query().Where(q.where...).Limit(q.limit)
	if len(q.order) > 0 {
		all = all.OrderBy(q.order...)
	}
	return all
}

func (c typedCollection[T]) ask(tx *stoat.Tx, q recordQuery) ([]person, error) {
	all, err := c.read(c.query(q).All(tx))
	if len(q.order) == 0 {
		slices.SortFunc(all, func(a, b person) int { return cmp.Compare(a.ID, b.ID) })
	}
	return all, err
}

func (c typedCollection[T]) by(tx *stoat.Tx, index string) ([]person, error) {
	return c.read(c.By(index).All(tx))
}

// read collects what a loop yields.
func (c typedCollection[T]) read(loop iter.Seq2[*T, error]) ([]person, error) {
	var all []person
	for r, err := range loop {
		if err != nil {
			return all, err
		}
		all = append(all, c.widen(r))
	}
	return all, nil
}

func (c typedCollection[T]) watch(
	ctx context.Context, db *stoat.DB, q recordQuery,
) iter.Seq2[change, error] {
	list := func(entries []record.Entry[T]) (all []person) {
		for _, e := range entries {
			all = append(all, c.widen(e.Record))
		}
		return all
	}
	return func(yield func(change, error) bool) {
		for ch, err := range c.Watch(ctx, db, c.query(q)) {
			n := change{ch.Position, list(ch.Added), list(ch.Changed), list(ch.Removed)}
			if !yield(n, err) {
				return
			}
		}
	}
}
