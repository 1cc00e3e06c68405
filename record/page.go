package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// pageStart is where a page of a result begins: after a record, or at the first one. It is
// immutable.
type pageStart struct {
	values map[*column][]byte // elements of the order and key fields; nil for the first page
	key    []byte
}

// After starts the result after the record r in the order of the query, for reading it page by
// page; a nil r means the first page.
//
//	page := users.Query().OrderBy("age").Limit(20)
//	for u, err := range page.After(last).All(tx) { … } // and then last = u
//
// Call [Query.OrderBy] first, without fields to order by key. The keys or an index must provide the
// order, after any fields that Eq fixes to a single value: the query reads nothing before the page,
// so the thousandth page costs as much as the first. If neither provides the order, the query has
// an error. Only the order and key fields of r matter; fields fixed by Eq must have that value. The
// record r need not exist any more.
func (q Query[T]) After(r *T) Query[T] {
	if row, ok := any(r).(*Row); ok && row != nil {
		return Query[T]{q.core.afterRow(row)}
	}
	return Query[T]{q.core.afterRecord(valueOf(r))}
}

// afterRecord is After a decoded record; an invalid one means the first page.
func (q query) afterRecord(r reflect.Value) query {
	if q = q.firstPage(); q.err != nil || !r.IsValid() {
		return q
	}
	key, err := q.c.appendKeyOf(nil, r)
	if err != nil {
		return q.fail(fmt.Errorf("query, after: %w", err))
	}
	values := map[*column][]byte{}
	for _, c := range slices.Concat(q.order, q.c.shape.key) {
		values[c] = c.appendValue(nil, c.value(r))
	}
	q.after = &pageStart{values: values, key: key}
	return q
}

// firstPage begins the result of an ordered query at its first record.
func (q query) firstPage() query {
	if q.order == nil {
		return q.fail(errors.New("query, after: call OrderBy before After; without fields it orders by " +
			"key"))
	}
	q.after = &pageStart{}
	return q
}

// afterRow is After a row of an untyped collection.
func (q query) afterRow(r *Row) query {
	if q = q.firstPage(); q.err != nil {
		return q
	}
	i := &item{c: q.c}
	i.set(r.key, r.record)
	values := map[*column][]byte{}
	for _, c := range slices.Concat(q.order, q.c.shape.key) {
		var err error
		if values[c], err = i.appendElement(nil, c); err != nil {
			return q.fail(fmt.Errorf("query, after: %w", err))
		}
	}
	q.after = &pageStart{values: values, key: r.key}
	return q
}

// plan returns the plan of the query, without the ranges before the page.
func (q *query) plan() (plan, error) {
	if q.err != nil {
		return plan{}, q.err
	}
	if q.c == nil {
		return plan{}, errors.New("the query has no collection: make it with Collection.Query")
	}
	p := q.c.shape.choosePlan(q.where, q.order, q.after != nil)
	if q.after == nil {
		return p, nil
	}
	if !p.sorted {
		return p, q.c.wrap(fmt.Errorf("query, after: neither the keys nor an index provide the order "+
			"by %s: add an index of the fields that Eq fixes, followed by these", q.orderNames()))
	}
	if q.after.values != nil {
		if c := p.startAfter(q.after, q.reverse); c != nil {
			return p, q.c.wrap(fmt.Errorf("query, after: the record has another %s than the query asks "+
				"for: pass the last record of the previous page", c.name))
		}
	}
	return p, nil
}

// orderNames returns the fields of the order as text for messages.
func (q *query) orderNames() string {
	if len(q.order) == 0 {
		return "key"
	}
	return names(q.order)
}

// startAfter cuts off the ranges up to the page's start. If the record there is not in the result,
// it returns the column in which it differs.
func (p *plan) startAfter(at *pageStart, reverse bool) (other *column) {
	var low []byte
	for i, c := range p.columns {
		if i >= p.single {
			value, ok := at.values[c]
			if !ok {
				value = p.fixed(c)
			}
			low = append(low, value...)
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
	rest := span{low: append(low, 0)} // the first possible successor
	if reverse {
		rest = span{high: low}
	}
	p.ranges = intersect(p.ranges, []span{rest})
	return nil
}
