package record

import (
	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// covering returns a plan over an index whose entries alone provide all values of a numeric column
// in the result: the column comes first in the index, the ranges guarantee all conditions, and
// nothing has expired.
func (q *query) covering(tx *stoat.Tx, c *column) (p plan, ok bool, err error) {
	if !q.entire() || len(q.filters) > 0 {
		return plan{}, false, nil
	}
	s, err := q.c.session(tx)
	if err != nil {
		return plan{}, false, err
	}
	if some, err := q.c.anyExpired(s); some || err != nil {
		return plan{}, false, q.c.wrap(err)
	}
	for _, x := range q.c.shape.indexes {
		if x.list >= 0 || x.columns[0] != c {
			continue
		}
		if p := q.c.shape.newPlan(x, x.columns, q.where, nil); len(p.rest) == 0 && !p.exact {
			return p, true, nil
		}
	}
	return plan{}, false, nil
}

// eachCovered calls fn for each entry in the plan's ranges, with a reader at its first element.
func (q *query) eachCovered(tx *stoat.Tx, p plan, fn func(*tuple.Reader) error) error {
	s, err := q.c.session(tx)
	if err != nil {
		return err
	}
	bucket, err := s.index(p.index)
	if err != nil {
		return q.c.wrap(err)
	}
	var reader tuple.Reader // reused, so that entries need no allocation
	each := untilDone(q.ctx, func(entry, _ []byte) error {
		reader = *tuple.NewReader(entry)
		return fn(&reader)
	})
	for _, span := range p.ranges {
		for entry := range bucket.Keys(stoat.Range{Start: span.low, End: span.high}) {
			if err := each(entry, nil); err != nil {
				return q.c.wrap(err)
			}
		}
	}
	return q.c.wrap(tx.Err())
}

// readFloat reads a value of a numeric column from an entry.
func (c *column) readFloat(r *tuple.Reader) (float64, error) {
	if integral(c.kind) {
		v, err := c.readInt(r)
		return float64(v), err
	}
	return r.Float()
}

// readInt reads a value of an integer column from an entry.
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
