package superversion

import "github.com/stoatdb/stoat/internal/keyspace"

// skipped is what a [Cursor] has skipped, so that the memtable can be told of spans without keys.
type skipped struct {
	run     skippedRun // in progress; empty unless the cursor is moving
	longest skippedRun
	limit   int // the cursor gives up after this many entries in a run; 0 is no limit
}

// skippedRun is neighbouring entries that are tombstones or have expired, with none between them
// that a cursor yields.
type skippedRun struct {
	entries   int
	first     []byte // the key that the cursor came to first
	end       []byte // the key that ended the run and is not part of it; nil if the bounds did
	direction keyspace.Direction
}

// add counts the merge's current entry, which is skipped, and reports whether to go on.
func (s *skipped) add(m *merge) bool {
	if s.run.entries == 0 {
		s.run.first, s.run.direction = m.winner.currentKey(), m.direction
	}
	if s.run.entries == s.limit && s.limit > 0 {
		s.end(m)
		m.stop(nil)
		return false
	}
	s.run.entries++
	return true
}

// end ends the run before the merge's current entry or, without one, at the bounds.
func (s *skipped) end(m *merge) {
	if m.winner != nil {
		s.run.end = m.winner.currentKey()
	}
	if s.run.entries > s.longest.entries {
		s.longest = s.run
	}
	s.run = skippedRun{}
}

// Skipped reports whether Absent has something to return, at the cost of a comparison.
func (c *Cursor) Skipped() bool { return c.skipped.longest.entries > 0 }

// Absent returns the span in which the cursor has skipped the most entries in a row, tombstones and
// expired ones, and their number. No key exists in the span. The cursor then forgets what it has
// skipped. The span is valid as long as the cursor's bounds and keys are.
func (c *Cursor) Absent() (span keyspace.Span, entries int) {
	run := c.skipped.longest
	c.skipped.longest = skippedRun{}
	switch {
	case run.entries == 0:
		return keyspace.Span{}, 0
	case run.direction == keyspace.Forward:
		span = keyspace.Span{Start: run.first, End: run.end}
		if run.end == nil {
			span.End = c.merge.scope.Upper
		}
	default:
		span = keyspace.Span{Start: c.merge.scope.Lower, End: after(run.first)}
		if run.end != nil {
			span.Start = after(run.end)
		}
	}
	if span.End == nil || len(span.Start) == 0 {
		return keyspace.Span{}, 0 // a cursor without bounds
	}
	return span, run.entries
}

// after returns the smallest key above key.
func after(key []byte) []byte { return append(key[:len(key):len(key)], 0) }

// FirstAbsent returns what [Cursor.Absent] returns of a cursor that went to the first key in span
// and gave up after skipping limit entries.
func (s *Superversion) FirstAbsent(
	span keyspace.Span, limit int,
) (absent keyspace.Span, entries int, err error) {
	var c Cursor
	c.Init(s, Scope{Lower: span.Start, Upper: span.End})
	c.skipped.limit = limit
	c.First()
	absent, entries = c.Absent()
	return absent, entries, c.Err()
}

// Absent reports whether certainly nothing below the newest memtable has the key. It looks into no
// table. What lies below never gains a key that it did not have.
func (s *Superversion) Absent(key []byte) bool {
	var e keyspace.Entry
	for i := range s.Sealed {
		if s.Sealed[i].Find(key, &e) {
			return e.Kind == keyspace.KindDelete
		}
	}
	for i := range s.Levels.Young {
		run := &s.Levels.Young[i]
		if run.tableOf(key) != nil {
			return false
		}
		if run.Deleted.Contains(key) {
			return true
		}
	}
	return s.Levels.Bottom.tableOf(key) == nil
}
