package record

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Query asks a collection for records. Its methods return changed copies, so that a query can be
// kept, shared, and be the beginning of others; it is immutable, and runs in any transaction.
//
//	q := users.Query().Where(record.Eq("home.city", "Ulm")).OrderBy("age").Limit(10)
//	for u, err := range q.All(tx) { … }
//
// A query without an order yields records in an order that depends on the index that it takes.
//
// A loop sees what is there when it starts, and its body may write. If it takes an index, though,
// it comes to records as they are by then, and leaves out those that were deleted meanwhile. In a
// transaction that can write, a loop over several ranges, as of In, keeps their keys in memory.
type Query[T any] struct {
	c       *Collection[T]
	where   []condition
	filters []func(*T) bool
	order   []*column // nil: any order; without columns: that of the keys
	reverse bool
	after   *position // nil: the result is not read in pages
	limit   int       // 0: no limit
	offset  int
	fields  []*column // of rows
	loop    bool      // it runs for the body of a loop, which may write
	stays   bool      // and that body moves no record from one range to another
	err     error
}

// Query returns the query for all records.
func (c *Collection[T]) Query() Query[T] { return Query[T]{c: c} }

// Where keeps the records for which all the predicates hold, besides those of earlier calls.
func (q Query[T]) Where(predicates ...Predicate) Query[T] {
	q.where = slices.Clone(q.where)
	for _, p := range predicates {
		c, err := q.c.shape.compile(p)
		if err != nil {
			return q.fail(fmt.Errorf("query %s: %w", p, err))
		}
		q.where = conjoin(q.where, c)
	}
	return q
}

// conjoin adds a condition to those that must hold. What asks for the same column becomes one,
// unless it is a list, where different elements may fulfil the conditions.
func conjoin(all []condition, c condition) []condition {
	if c.column == nil && !c.any {
		for _, part := range c.parts {
			all = conjoin(all, part)
		}
		return all
	}
	for i := range all {
		if old := &all[i]; c.column != nil && old.column == c.column && !c.column.list {
			all[i] = condition{column: c.column, spans: intersect(old.spans, c.spans),
				said: slices.Concat(old.said, c.said)}
			return all
		}
	}
	return append(all, c)
}

// Filter keeps the records for which fn returns true. It is called for the records that fulfil all
// predicates, and must neither keep nor change the record.
func (q Query[T]) Filter(fn func(*T) bool) Query[T] {
	q.filters = append(slices.Clip(q.filters), fn)
	return q
}

// OrderBy sorts by the fields, and records with the same values by their keys. Several fields are
// in one call; without fields it sorts by the keys alone.
//
// Where neither the key nor an index gives the order, it sorts in memory, whatever
// [stoat.Options.MemoryLimit] says: with a limit as many records as that, and otherwise the fields
// of the order and the keys of the whole result, with the records if those are few. An index, or a
// limit, avoids that; [Query.Explain] tells.
func (q Query[T]) OrderBy(fields ...string) Query[T] {
	if q.after != nil {
		return q.fail(errors.New("query, order: call OrderBy before After"))
	}
	q.order = make([]*column, 0, len(fields))
	for _, name := range fields {
		c, err := q.c.shape.column(name)
		if err == nil && (!c.ordered() || c.list) {
			err = fmt.Errorf("field %s has the type %s, which has no order", name, c.typ)
		}
		if err != nil {
			return q.fail(fmt.Errorf("query, order by %s: %w", name, err))
		}
		q.order = append(q.order, c)
	}
	return q
}

// Desc is [Query.Reverse], to be read after OrderBy.
func (q Query[T]) Desc() Query[T] { return q.Reverse() }

// Reverse turns the order of the records around, before Limit and Offset count them.
func (q Query[T]) Reverse() Query[T] {
	q.reverse = !q.reverse
	return q
}

// Limit ends the result after n records; 0 is no limit.
func (q Query[T]) Limit(n int) Query[T] {
	if n < 0 {
		return q.fail(errors.New("query: a limit below 0"))
	}
	q.limit = n
	return q
}

// Offset leaves out the first n records.
func (q Query[T]) Offset(n int) Query[T] {
	if n < 0 {
		return q.fail(errors.New("query: an offset below 0"))
	}
	q.offset = n
	return q
}

// top returns how many records there are up to the limit, with those that the offset leaves out.
func (q *Query[T]) top() int {
	if q.limit == 0 {
		return math.MaxInt
	}
	return q.limit + min(q.offset, math.MaxInt-q.limit)
}

// Fields chooses the fields that [Query.Rows] yields.
func (q Query[T]) Fields(names ...string) Query[T] {
	q.fields = nil
	for _, name := range names {
		c, err := q.c.shape.column(name)
		if err != nil {
			return q.fail(fmt.Errorf("query, fields: %w", err))
		}
		q.fields = append(q.fields, c)
	}
	return q
}

// Err returns what is wrong with the query, such as a field that does not exist. Running the query
// returns the same error.
func (q Query[T]) Err() error {
	_, err := q.plan()
	return err
}

// fail keeps the first error.
func (q Query[T]) fail(err error) Query[T] {
	if q.err == nil {
		q.err = q.c.wrap(err)
	}
	return q
}
