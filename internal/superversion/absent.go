package superversion

import "github.com/stoatdb/stoat/internal/keyspace"

// What is not there, and what it takes to find that out.

// passing is a run of entries that are tombstones or have expired, with none between them that a
// cursor yields.
type passing struct {
	entries int
	first   []byte // the key of the first that the cursor came to
	end     []byte // the key at which it ended, which does not belong to it; nil if the bounds did
	reverse bool
}

// pass counts the current entry, which is to be skipped, and reports whether to go on behind it.
func (c *Cursor) pass() bool {
	if c.passing.entries == 0 {
		c.passing.first, c.passing.reverse = c.winner.currentKey(), c.reverse
	}
	if c.passing.entries == c.patience && c.patience > 0 {
		c.endPassing()
		c.winner = nil
		return false
	}
	c.passing.entries++
	return true
}

// endPassing ends the run before the current entry or, if there is none, at the bounds.
func (c *Cursor) endPassing() {
	if c.winner != nil {
		c.passing.end = c.winner.currentKey()
	}
	if c.passing.entries > c.longest.entries {
		c.longest = c.passing
	}
	c.passing = passing{}
}

// Absent returns the span in which the cursor has skipped the most entries in a row, tombstones and
// what has expired, and how many those are: no key in it exists. Then it forgets them. The bounds
// of the span are valid as long as those of the cursor are, and its keys.
func (c *Cursor) Absent() (span keyspace.Span, entries int) {
	p := c.longest
	c.longest = passing{}
	switch {
	case p.entries == 0:
		return keyspace.Span{}, 0
	case !p.reverse:
		span = keyspace.Span{Start: p.first, End: p.end}
		if p.end == nil {
			span.End = c.upper
		}
	default:
		span = keyspace.Span{Start: c.lower, End: behind(p.first)}
		if p.end != nil {
			span.Start = behind(p.end)
		}
	}
	if span.End == nil || len(span.Start) == 0 {
		return keyspace.Span{}, 0 // a cursor without bounds
	}
	return span, p.entries
}

// behind returns the smallest key above key.
func behind(key []byte) []byte { return append(key[:len(key):len(key)], 0) }

// FirstAbsent is what [Cursor.Absent] returns of a cursor at its first entry in span, or after so
// many that are none.
func (s *Superversion) FirstAbsent(
	span keyspace.Span, most int,
) (absent keyspace.Span, entries int, err error) {
	var c Cursor
	c.Init(s, span.Start, span.End, NoValues, nil)
	c.patience = most
	c.First()
	absent, entries = c.Absent()
	return absent, entries, c.Err()
}

// Absent reports whether surely nothing below the newest memtable has the key: it looks into no
// table. What lies below never comes to have a key that it had not.
func (s *Superversion) Absent(key []byte) bool {
	for i := range s.Sealed {
		if e, ok := s.Sealed[i].Get(key); ok {
			return e.Kind == keyspace.KindDelete
		}
	}
	for i := range s.Levels.Young {
		run := &s.Levels.Young[i]
		if run.find(key) != nil {
			return false
		}
		if run.Deleted.Contains(key) {
			return true
		}
	}
	return s.Levels.Bottom.find(key) == nil
}
