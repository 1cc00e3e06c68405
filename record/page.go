package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// position is where a page of a result begins: behind a record, or at the first one. It is
// immutable.
type position struct {
	values map[*column][]byte // the elements of the fields of order and key; nil at the first record
	key    []byte
}

// After goes on behind r in the order of the query, which is how one page follows another; nil is
// for the first page.
//
//	page := users.Query().OrderBy("age").Limit(20)
//	for u, err := range page.After(last).All(tx) { … } // and then last = u
//
// The order must be stated before, if only by [Query.OrderBy] without fields, and the keys or an
// index must give it, behind the fields that have one value by Eq: the query reads nothing before
// the page, and so the thousandth costs what the first one does. If neither gives the order, the
// query has an error. Of r only the fields of the order and of the key matter, which must have the
// values that the query asks for by Eq; there need not be such a record any more.
func (q Query[T]) After(r *T) Query[T] {
	if q.order == nil {
		return q.fail(errors.New("query, after: call OrderBy before After, without fields for the " +
			"order of the keys"))
	}
	q.after = &position{}
	if r == nil {
		return q
	}
	key, err := q.c.appendKeyOf(nil, r)
	if err != nil {
		return q.fail(fmt.Errorf("query, after: %w", err))
	}
	record := reflect.ValueOf(r).Elem()
	values := map[*column][]byte{}
	for _, c := range slices.Concat(q.order, q.c.shape.key) {
		values[c] = c.append(nil, c.of(record))
	}
	q.after = &position{values: values, key: key}
	return q
}

// plan returns the path to the records, without what is before the page.
func (q *Query[T]) plan() (path, error) {
	if q.err != nil {
		return path{}, q.err
	}
	if q.c == nil {
		return path{}, errors.New("a query of no collection: make it with Collection.Query")
	}
	p := q.c.shape.choose(q.where, q.order, q.after != nil)
	if q.after == nil {
		return p, nil
	}
	if !p.sorted {
		return p, q.c.wrap(fmt.Errorf("query, after: neither the keys nor an index give the order by "+
			"%s: add an index of the fields that have one value, and then of these", q.orderNames()))
	}
	if q.after.values != nil {
		if c := p.goOn(q.after, q.reverse); c != nil {
			return p, q.c.wrap(fmt.Errorf("query, after: the record has another %s than the query asks "+
				"for: pass the last one of the page before", c.name))
		}
	}
	return p, nil
}

// orderNames returns the fields of the order for people.
func (q *Query[T]) orderNames() string {
	if len(q.order) == 0 {
		return "key"
	}
	return names(q.order)
}

// goOn leaves out what is up to the position. It returns a column in which that is not one of the
// result, or nil.
func (p *path) goOn(at *position, reverse bool) (other *column) {
	var low []byte
	for i, c := range p.columns {
		if i >= p.single {
			low = append(low, at.values[c]...)
			continue
		}
		one := p.used[i].spans[0].low
		if value, ok := at.values[c]; ok && !bytes.Equal(value, one) {
			return c
		}
		low = append(low, one...)
	}
	if p.index != nil && !p.index.Unique || len(p.columns) == 0 {
		low = append(low, at.key...)
	}
	rest := span{low: append(low, 0)} // the first that can follow
	if reverse {
		rest = span{high: low}
	}
	p.ranges = intersect(p.ranges, []span{rest})
	return nil
}
