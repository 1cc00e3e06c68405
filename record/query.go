package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Query selects records of a collection. Its methods return modified copies, so a query can be
// stored, shared, and extended; it is immutable and runs in any transaction.
//
//	q := users.Query().Where(record.Eq("home.city", "Ulm")).OrderBy("age").Limit(10)
//	for u, err := range q.All(tx) { … }
//
// Without OrderBy, the order of the records depends on the index that the query uses.
//
// A loop sees the state when it starts, and its body may write. If it uses an index, however, it
// reads each record as it is when the loop gets there, and leaves out records deleted meanwhile. In
// a writable transaction, a loop over several ranges, as with In, keeps their keys in memory.
type Query[T any] struct{ core query }

// query is a [Query] that knows the type of the records by the shape of the collection only.
type query struct {
	c       *collection
	where   []condition
	filters []filter
	order   []*column // nil: any order; empty: by key
	reverse bool
	after   *pageStart // nil: the result is not paged
	limit   int        // 0: no limit
	offset  int
	fields  []*column // of rows; nil: all
	loop    bool      // runs for the body of a loop, which may write
	stays   bool      // the body never moves a record from one range to another
	err     error
	ctx     context.Context // ends the query early; nil: nothing does
}

// filter reports whether a query keeps a record.
type filter func(*item) (bool, error)

// Query returns the query for all records.
func (c *Collection[T]) Query() Query[T] { return Query[T]{query{c: c.core}} }

// Where keeps the records that satisfy all the predicates, in addition to those of earlier calls.
func (q Query[T]) Where(predicates ...Predicate) Query[T] {
	return Query[T]{q.core.restrict(predicates)}
}

func (q query) restrict(predicates []Predicate) query {
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

// conjoin adds a condition to a list of which all must hold. It merges conditions on the same
// column, except a list, where different elements may satisfy each of them.
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

// Filter keeps the records for which fn returns true. It is called for records that satisfy all
// predicates, and must neither retain nor modify the record.
func (q Query[T]) Filter(fn func(*T) bool) Query[T] {
	q.core.filters = append(slices.Clip(q.core.filters), func(i *item) (bool, error) {
		r, err := recordOf[T](i)
		return err == nil && fn(r), err
	})
	return q
}

// OrderBy sorts by the fields, and records with equal values by key. Name all fields in one call;
// without fields it sorts by key.
//
// If neither the key nor an index provides the order, the query sorts in memory, regardless of
// [stoat.Options.MemoryLimit]. With a limit it keeps about that many records, and otherwise the
// sort fields and keys of the whole result, with the records if they are small in total. An index
// or a limit avoids that; [Query.Explain] shows what happens.
func (q Query[T]) OrderBy(fields ...string) Query[T] { return Query[T]{q.core.orderBy(fields)} }

func (q query) orderBy(fields []string) query {
	if q.after != nil {
		return q.fail(errors.New("query, order: call OrderBy before After"))
	}
	q.order = make([]*column, 0, len(fields))
	for _, name := range fields {
		c, err := q.c.shape.sortColumn(name)
		if err != nil {
			return q.fail(fmt.Errorf("query, order by %s: %w", name, err))
		}
		q.order = append(q.order, c)
	}
	return q
}

// Desc is [Query.Reverse], which reads better after OrderBy.
func (q Query[T]) Desc() Query[T] { return q.Reverse() }

// Reverse reverses the order of the records, before Limit and Offset apply.
func (q Query[T]) Reverse() Query[T] {
	q.core.reverse = !q.core.reverse
	return q
}

// Limit ends the result after n records; 0 means no limit.
func (q Query[T]) Limit(n int) Query[T] {
	if n < 0 {
		return Query[T]{q.core.fail(fmt.Errorf("query: limit %d is negative", n))}
	}
	q.core.limit = n
	return q
}

// Offset skips the first n records.
func (q Query[T]) Offset(n int) Query[T] {
	if n < 0 {
		return Query[T]{q.core.fail(fmt.Errorf("query: offset %d is negative", n))}
	}
	q.core.offset = n
	return q
}

// top returns how many records the query needs up to the limit, including those it skips.
func (q *query) top() int {
	if q.limit == 0 {
		return math.MaxInt
	}
	return q.limit + min(q.offset, math.MaxInt-q.limit)
}

// Fields chooses the fields that [Query.Rows] yields.
func (q Query[T]) Fields(names ...string) Query[T] { return Query[T]{q.core.choose(names)} }

func (q query) choose(names []string) query {
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

// Context makes the query end with the error of ctx when that is done: it looks after every few
// records that it finds, whether or not they satisfy the predicates.
func (q Query[T]) Context(ctx context.Context) Query[T] {
	q.core.ctx = ctx
	return q
}

// Err returns the error of an invalid query, such as one with an unknown field. Running the query
// returns the same error.
func (q Query[T]) Err() error {
	_, err := q.core.plan()
	return err
}

// fail records the first error.
func (q query) fail(err error) query {
	if q.err == nil {
		q.err = q.c.wrap(err)
	}
	return q
}
