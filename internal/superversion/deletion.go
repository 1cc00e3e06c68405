package superversion

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
)

// deletion is the ranges that one memtable or run deletes of all that is older, as a [Cursor] asks
// for them: near the key that it asked about before.
type deletion struct {
	root  *memtable.Root // nil for a run
	spans keyspace.Spans // of a run

	near    keyspace.Span // all of its keys are deleted, or none
	deleted bool
}

// around returns the widest span around key whose keys are all deleted, or all not.
func (d *deletion) around(key []byte) (span keyspace.Span, deleted bool) {
	if !d.near.Contains(key) {
		d.find(key)
	}
	return d.near, d.deleted
}

func (d *deletion) find(key []byte) {
	if d.root != nil {
		d.near, d.deleted = d.root.Around(key)
	} else {
		d.near, d.deleted = d.spans.Around(key)
	}
}

// addDeletion makes d count for the sources that are added from now on, if it deletes anything
// within the bounds. What lies outside of them costs no more than to find that out.
func (c *Cursor) addDeletion(d deletion) {
	d.find(c.lower)
	if above := d.near.End; d.deleted ||
		above != nil && (c.upper == nil || bytes.Compare(above, c.upper) < 0) {
		c.deletions = append(c.deletions, d)
	}
}

// leaveDeleted moves s out of the ranges that newer sources delete, in the direction of travel, and
// reports whether it is on an entry. It does not look for one beyond the bounds.
func (c *Cursor) leaveDeleted(s *source) bool {
	for {
		key := s.currentKey()
		if s.gap.Contains(key) {
			return true
		}
		span, deleted := c.around(key, s.newer)
		switch {
		case !deleted:
			s.gap = span
		case c.endsWith(span):
			return false
		case c.reverse && !s.seekBefore(span.Start), !c.reverse && !s.seek(span.End):
			return false
		}
	}
}

// endsWith reports whether nothing within the bounds lies beyond span in the direction of travel.
func (c *Cursor) endsWith(span keyspace.Span) bool {
	if c.reverse {
		return bytes.Compare(span.Start, c.lower) <= 0
	}
	return span.End == nil || c.upper != nil && bytes.Compare(span.End, c.upper) >= 0
}

// around returns a span around key that one of the first deletions has, or the widest that none has
// any key of.
func (c *Cursor) around(key []byte, deletions int) (span keyspace.Span, deleted bool) {
	for i := range c.deletions[:deletions] {
		near, deleted := c.deletions[i].around(key)
		if deleted {
			return near, true
		}
		span = span.Intersect(near)
	}
	return span, false
}
