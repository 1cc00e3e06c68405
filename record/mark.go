package record

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/tuple"
)

// AnyOrder is [Query.OrderBy] for when the order does not matter: it takes the order in which the
// records come without one, so that [Query.After] can read the result page by page by the same
// index. Call it after Where: it looks at the predicates so far.
func (q Query[T]) AnyOrder() Query[T] { return Query[T]{q.core.anyOrder()} }

func (q query) anyOrder() query {
	if q.err != nil {
		return q
	}
	if q.after != nil {
		return q.fail(errors.New("query, order: call AnyOrder before After"))
	}
	q.order = []*column{}
	if p := q.c.shape.choosePlan(q.where, nil, false); p.index != nil {
		q.order = slices.DeleteFunc(slices.Clone(p.columns[p.single:]), func(c *column) bool {
			return c.list
		})
	}
	return q
}

// Mark returns the place of the record r in the order of the query, from which [Query.AfterMark]
// goes on. A program can leave it with a client that reads page by page: it is as long as the
// values of the order and the key together, and whoever has it can read those.
func (q Query[T]) Mark(r *T) ([]byte, error) {
	q = q.After(r)
	if q.core.err != nil || r == nil {
		return nil, q.core.err
	}
	return q.core.mark(), nil
}

// mark returns the mark of the record after which the result starts.
func (q *query) mark() (mark []byte) {
	for _, c := range q.order {
		mark = append(mark, q.after.values[c]...)
	}
	return append(mark, q.after.key...)
}

// AfterMark is [Query.After] for the record of which the same query made the mark; no mark means
// the first page. Any other bytes are an error or begin the page somewhere else in the result.
func (q Query[T]) AfterMark(mark []byte) Query[T] { return Query[T]{q.core.afterMark(mark)} }

func (q query) afterMark(mark []byte) query {
	if q = q.firstPage(); q.err != nil || len(mark) == 0 {
		return q
	}
	mark = slices.Clone(mark)
	values := map[*column][]byte{}
	key, err := cutElements(mark, q.order, values)
	if err == nil && len(key) == 0 {
		err = errors.New("it has no key")
	}
	if err == nil {
		err = q.c.cutKey(key, values)
	}
	if err != nil {
		return q.fail(fmt.Errorf("query, after: this is not a mark of the query: %w", err))
	}
	q.after = &pageStart{values: values, key: key}
	return q
}

// cutElements sets the elements of the columns to those with which p begins, and returns the rest.
func cutElements(p []byte, columns []*column, values map[*column][]byte) (rest []byte, err error) {
	r := tuple.NewReader(p)
	for _, c := range columns {
		start := len(p) - r.Len()
		if err := r.Skip(); err != nil {
			return nil, err
		}
		values[c] = p[start : len(p)-r.Len()]
	}
	return p[len(p)-r.Len():], nil
}

// cutKey sets the elements of the key columns to those of a key.
func (c *collection) cutKey(key []byte, values map[*column][]byte) error {
	if len(c.shape.key) == 0 { // a function returns it
		_, err := tuple.Decode(key)
		return err
	}
	rest, err := cutElements(key, c.shape.key, values)
	if err == nil && len(rest) > 0 {
		err = errors.New("its key is too long")
	}
	return err
}
