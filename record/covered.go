package record

import (
	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// covering returns a path over an index whose entries alone tell all values of a column of numbers
// in the result: the column comes first in it, it decides all conditions, and nothing has expired.
func (q *Query[T]) covering(tx *stoat.Tx, c *column) (p path, ok bool, err error) {
	if !q.entire() || len(q.filters) > 0 {
		return path{}, false, nil
	}
	s, err := q.c.session(tx)
	if err != nil {
		return path{}, false, err
	}
	if some, err := q.c.anyExpired(s); some || err != nil {
		return path{}, false, q.c.wrap(err)
	}
	for _, x := range q.c.shape.indexes {
		if x.list >= 0 || x.columns[0] != c {
			continue
		}
		if p := q.c.shape.path(x, x.columns, q.where, nil); len(p.rest) == 0 && !p.exact {
			return p, true, nil
		}
	}
	return path{}, false, nil
}

// eachCovered calls fn for each entry of the index of a path, at its first element.
func (q *Query[T]) eachCovered(tx *stoat.Tx, p path, fn func(*tuple.Reader) error) error {
	s, err := q.c.session(tx)
	if err != nil {
		return err
	}
	bucket, err := s.index(p.index)
	if err != nil {
		return q.c.wrap(err)
	}
	var reader tuple.Reader // one for all, so that entries take no memory
	for _, span := range p.ranges {
		for entry := range bucket.Keys(stoat.Range{Start: span.low, End: span.high}) {
			reader = *tuple.NewReader(entry)
			if err := fn(&reader); err != nil {
				return q.c.wrap(err)
			}
		}
	}
	return q.c.wrap(tx.Err())
}

// readFloat takes a value of the column, which is of numbers, from an entry.
func (c *column) readFloat(r *tuple.Reader) (float64, error) {
	if integral(c.kind) {
		v, err := c.readInt(r)
		return float64(v), err
	}
	return r.Float()
}

// readInt takes a value of the column, which is of integers, from an entry.
func (c *column) readInt(r *tuple.Reader) (int64, error) {
	if signed(c.kind) {
		return r.Int()
	}
	u, err := r.Uint()
	if err != nil {
		return 0, err
	}
	return fitInt(c, u)
}
