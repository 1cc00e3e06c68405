package record

import (
	"iter"
	"slices"

	"github.com/stoatdb/stoat"
)

// needs is what a run reads of the records that it comes to; the zero value is their keys only.
type needs struct {
	columns []*column
	whole   bool
}

// records reports whether the stored records are needed at all.
func (n needs) records() bool { return n.whole || len(n.columns) > 0 }

// scan returns a loop over the keys in a range and the stored records, of which there is as much as
// the run needs.
func (r *run[T]) scan(keys stoat.Range) iter.Seq2[[]byte, []byte] {
	if n := r.reach(); n > 0 {
		return r.s.data.Heads(keys, n)
	}
	return r.s.data.Scan(keys)
}

// reach returns how many bytes from their start are enough of all records, or 0 if that is all.
func (r *run[T]) reach() (most int) {
	if r.needs.whole || len(r.q.filters) > 0 {
		return 0
	}
	columns := slices.Concat(r.needs.columns, r.q.order)
	for i := range r.path.rest {
		columns = r.path.rest[i].appendColumns(columns)
	}
	for _, c := range columns {
		if !r.item.stored(c) {
			return 0
		}
		for _, v := range r.q.c.versions {
			n := v.fields[c.number].Reach()
			if n == 0 {
				return 0
			}
			most = max(most, n)
		}
	}
	return most
}

// appendColumns appends the columns that the condition is about.
func (c *condition) appendColumns(dst []*column) []*column {
	if c.column != nil {
		return append(dst, c.column)
	}
	for i := range c.parts {
		dst = c.parts[i].appendColumns(dst)
	}
	return dst
}
