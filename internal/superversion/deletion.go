package superversion

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
)

// deletion is the ranges that one memtable or run deletes from everything older. It remembers what
// lies around the key that it was last asked about, because a [merge] asks for near keys.
type deletion struct {
	root  *memtable.Root // nil for a run
	spans keyspace.Spans // of a run

	near    keyspace.Span // all of its keys are deleted, or none
	deleted bool          // which of the two
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

// addDeletion makes d hide entries of the inputs that are added from now on. If d deletes nothing
// within the bounds, it costs no more than finding that out.
func (m *merge) addDeletion(d deletion) {
	d.find(m.scope.Lower)
	above := d.near.End
	if d.deleted || above != nil &&
		(m.scope.Upper == nil || bytes.Compare(above, m.scope.Upper) < 0) {
		m.deletions = append(m.deletions, d)
	}
}

// leaveDeleted moves an input out of the ranges that newer inputs delete, in the direction of
// travel, and reports whether it is on an entry. It does not look for one beyond the bounds.
func (m *merge) leaveDeleted(in *input) bool {
	for {
		key := in.currentKey()
		if in.gap.Contains(key) {
			return true
		}
		span, deleted := m.deletedAround(key, in.newer)
		switch {
		case !deleted:
			in.gap = span
		case m.endsIn(span):
			return false
		case m.direction == keyspace.Reverse && !in.seekBefore(span.Start),
			m.direction == keyspace.Forward && !in.seek(span.End):
			return false
		}
	}
}

// endsIn reports whether nothing within the bounds lies beyond span in the direction of travel.
func (m *merge) endsIn(span keyspace.Span) bool {
	if m.direction == keyspace.Reverse {
		return bytes.Compare(span.Start, m.scope.Lower) <= 0
	}
	return span.End == nil ||
		m.scope.Upper != nil && bytes.Compare(span.End, m.scope.Upper) >= 0
}

// deletedAround returns a span around key that one of the n newest deletions covers or, if none
// covers key, the widest span that none of them touches.
func (m *merge) deletedAround(key []byte, n int) (span keyspace.Span, deleted bool) {
	for i := range m.deletions[:n] {
		near, deleted := m.deletions[i].around(key)
		if deleted {
			return near, true
		}
		span = span.Intersect(near)
	}
	return span, false
}
