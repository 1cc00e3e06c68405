package record

import (
	"iter"
	"slices"

	"github.com/stoatdb/stoat"
)

// needs is what the execution of a query reads of the records; the zero value means only their
// keys.
type needs struct {
	columns []*column
	whole   bool
}

// records reports whether stored records must be read at all.
func (n needs) records() bool { return n.whole || len(n.columns) > 0 }

// scan returns an iterator over the keys in a range and the records there, or as much of each
// record as the execution needs.
func (e *exec) scan(keys stoat.Range) iter.Seq2[[]byte, []byte] {
	if n := e.reach(); n > 0 {
		return e.s.data.Heads(keys, n)
	}
	return e.s.data.Scan(keys)
}

// reach returns how many leading bytes of every record are enough, or 0 if whole records are
// needed.
func (e *exec) reach() (most int) {
	if e.needs.whole || len(e.q.filters) > 0 {
		return 0
	}
	columns := slices.Concat(e.needs.columns, e.q.order)
	for i := range e.plan.rest {
		columns = e.plan.rest[i].appendColumns(columns)
	}
	for _, c := range columns {
		if !e.item.stored(c) {
			return 0
		}
		for _, v := range e.q.c.schemas {
			n := v.fields[c.number].Reach()
			if n == 0 {
				return 0
			}
			most = max(most, n)
		}
	}
	return most
}

// appendColumns appends the columns that the condition refers to.
func (c *condition) appendColumns(dst []*column) []*column {
	if c.column != nil {
		return append(dst, c.column)
	}
	for i := range c.parts {
		dst = c.parts[i].appendColumns(dst)
	}
	return dst
}
