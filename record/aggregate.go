package record

import (
	"fmt"
	"math"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// Count returns the number of records in the result. Without predicates it reads one key; if an
// index decides all conditions, it reads only index entries.
func (q Query[T]) Count(tx *stoat.Tx) (uint64, error) { return q.core.count(tx) }

func (q query) count(tx *stoat.Tx) (uint64, error) {
	if q.err == nil && len(q.where)+len(q.filters) == 0 && q.after == nil {
		n, err := q.c.count(tx)
		n -= min(n, uint64(q.offset))
		if q.limit > 0 {
			n = min(n, uint64(q.limit))
		}
		return n, err
	}
	n := uint64(0)
	if q.after == nil {
		q.order = nil
	}
	err := q.exec(tx, needs{}, func(*item) error {
		n++
		return nil
	})
	return n, err
}

// number returns the column with the given name, which must be numeric.
func (q query) number(name string) (*column, error) {
	if q.err != nil {
		return nil, q.err
	}
	c, err := q.c.shape.column(name)
	if err == nil && (!c.plain() || !integral(c.kind) && !floating(c.kind)) {
		err = fmt.Errorf("field %s has the type %s, which is not a number", name, c.typ)
	}
	return c, q.c.wrap(err)
}

// entire reports whether the result has all records that match, in any order.
func (q *query) entire() bool { return q.limit == 0 && q.offset == 0 && q.after == nil }

// unordered returns the query without its order, if the order does not affect the result.
func (q query) unordered() query {
	if q.entire() {
		q.order = nil
	}
	return q
}

// Sum returns the sum of a numeric field. [Query.SumInt] is exact for integers. If an index begins
// with the field and decides all conditions, Sum reads only its entries, and adds floats in its
// order; SumInt and Avg do so too.
func (q Query[T]) Sum(tx *stoat.Tx, field string) (float64, error) {
	sum, _, err := q.core.sum(tx, field)
	return sum, err
}

// Avg returns the average of a numeric field; the error is [stoat.ErrNotFound] if the result is
// empty.
func (q Query[T]) Avg(tx *stoat.Tx, field string) (float64, error) { return q.core.avg(tx, field) }

func (q query) avg(tx *stoat.Tx, field string) (float64, error) {
	sum, n, err := q.sum(tx, field)
	if err == nil && n == 0 {
		err = q.c.wrap(fmt.Errorf("average of %s: no records: %w", field, stoat.ErrNotFound))
	}
	return sum / float64(max(n, 1)), err
}

// sum returns the sum of a field and the number of records.
func (q query) sum(tx *stoat.Tx, field string) (sum float64, n uint64, err error) {
	c, err := q.number(field)
	if err != nil {
		return 0, 0, err
	}
	add := func(v float64, err error) error {
		sum += v
		n++
		return err
	}
	p, ok, err := q.covering(tx, c)
	switch {
	case err != nil:
	case ok:
		err = q.eachCovered(tx, p, func(r *tuple.Reader) error { return add(c.readFloat(r)) })
	default:
		err = q.unordered().exec(tx, needs{columns: []*column{c}}, func(i *item) error {
			return add(i.float(c))
		})
	}
	return sum, n, err
}

// SumInt returns the sum of an integer field, or an error if it overflows.
func (q Query[T]) SumInt(tx *stoat.Tx, field string) (int64, error) {
	return q.core.sumInt(tx, field)
}

func (q query) sumInt(tx *stoat.Tx, field string) (int64, error) {
	c, err := q.number(field)
	if err == nil && !integral(c.kind) {
		err = q.c.wrap(fmt.Errorf("field %s has the type %s, which is not an integer: use Sum", field,
			c.typ))
	}
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	add := func(v int64, err error) error {
		if err != nil {
			return err
		}
		if v > 0 && sum > math.MaxInt64-v || v < 0 && sum < math.MinInt64-v {
			return fmt.Errorf("the sum of %s does not fit in 64 bits: use Sum", field)
		}
		sum += v
		return nil
	}
	p, ok, err := q.covering(tx, c)
	switch {
	case err != nil:
	case ok:
		err = q.eachCovered(tx, p, func(r *tuple.Reader) error { return add(c.readInt(r)) })
	default:
		err = q.unordered().exec(tx, needs{columns: []*column{c}}, func(i *item) error {
			return add(i.integer(c))
		})
	}
	return sum, err
}

// float returns the value of a numeric column.
func (i *item) float(c *column) (float64, error) {
	if integral(c.kind) {
		v, err := i.integer(c)
		return float64(v), err
	}
	if !i.stored(c) {
		r, err := i.record()
		if err != nil {
			return 0, err
		}
		return c.value(r).Float(), nil
	}
	f, err := i.field(c)
	if err != nil {
		return 0, err
	}
	return f.Float(i.value)
}

// integer returns the value of an integer column.
func (i *item) integer(c *column) (int64, error) {
	if !i.stored(c) {
		r, err := i.record()
		if err != nil {
			return 0, err
		}
		v := c.value(r)
		if signed(c.kind) {
			return v.Int(), nil
		}
		return fitInt(c, v.Uint())
	}
	f, err := i.field(c)
	if err != nil {
		return 0, err
	}
	if signed(c.kind) {
		return f.Int(i.value)
	}
	u, err := f.Uint(i.value)
	if err != nil {
		return 0, err
	}
	return fitInt(c, u)
}

// fitInt returns u as an int64, or an error if it overflows.
func fitInt(c *column, u uint64) (int64, error) {
	if u > math.MaxInt64 {
		return 0, fmt.Errorf("field %s is %d, which is too large to add up", c.name, u)
	}
	return int64(u), nil
}

// Min returns the least value of a field, ignoring nil; the error is [stoat.ErrNotFound] if there
// is no value. It reads one record if an index provides the order. The value has the type that
// [tuple.Decode] returns: an int64 (or a uint64 if it does not fit), a float64, and so on.
func (q Query[T]) Min(tx *stoat.Tx, field string) (Value, error) {
	return q.core.extreme(tx, field, least)
}

// Max returns the greatest value of a field, like Min.
func (q Query[T]) Max(tx *stoat.Tx, field string) (Value, error) {
	return q.core.extreme(tx, field, greatest)
}

// bound chooses one end of an order.
type bound bool

const (
	least    bound = false
	greatest bound = true
)

// extreme returns the value of a field at one end of its order.
func (q query) extreme(tx *stoat.Tx, field string, at bound) (Value, error) {
	if q.err != nil {
		return nil, q.err
	}
	c, err := q.c.shape.sortColumn(field)
	if err != nil {
		return nil, q.c.wrap(err)
	}
	if q.entire() {
		q.order, q.reverse, q.limit = []*column{c}, at == greatest, 1
		if c.optional {
			q.where = conjoin(append([]condition(nil), q.where...),
				condition{column: c, spans: []span{{c.least(), nil}},
					said: []Predicate{{op: opNotNil, field: field}}})
		}
	}
	var best, next []byte
	err = q.exec(tx, needs{columns: []*column{c}}, func(i *item) error {
		var err error
		if next, err = i.appendElement(next[:0], c); err != nil || c.optional && isNil(next) {
			return err
		}
		if best == nil || (string(next) > string(best)) == (at == greatest) {
			best, next = next, best
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if best == nil {
		return nil, q.c.wrap(fmt.Errorf("extreme of %s: no values: %w", field, stoat.ErrNotFound))
	}
	values, err := tuple.Decode(best)
	if err != nil {
		return nil, q.c.wrap(err)
	}
	return values[0], nil
}
