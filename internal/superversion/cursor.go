package superversion

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
)

// Cursor walks the keys that exist in a superversion and their values, in key order, in both
// directions, within bounds. It takes the newest entries from a [merge], skips those that are
// tombstones or have expired, and loads values from wherever they lie.
//
// The zero Cursor must be initialised with Init and not be copied afterwards. It keeps its
// superversion alive. Not safe for concurrent use. Keys and values stay valid as long as the
// superversion is reachable or, if they are in the scratch, until that is reset. They must not be
// modified.
type Cursor struct {
	snapshot *Superversion
	merge    merge
	now      uint64 // the time by which entries expire; 0 until the first entry that can
	skipped  skipped
}

// Scope says which entries a cursor visits and what it reads of them.
type Scope = table.Scope

// What a cursor reads of values.
const (
	ReadKeys   = table.ReadKeys
	ReadHeads  = table.ReadHeads
	ReadValues = table.ReadValues
)

// Init makes c a cursor over s that is on no entry. With [ReadKeys], Value must not be called. A
// scope with Once must have a Scratch.
func (c *Cursor) Init(s *Superversion, scope Scope) {
	c.snapshot, c.now, c.skipped = s, 0, skipped{}
	c.merge.init(scope)
	c.merge.addMemtable(&s.Mem)
	for i := range s.Sealed {
		c.merge.addMemtable(&s.Sealed[i])
	}
	for i := range s.Levels.Young {
		c.merge.addRun(&s.Levels.Young[i])
	}
	c.merge.addRun(&s.Levels.Bottom)
}

// Release drops the superversion and keeps the cursor's own memory for another Init.
func (c *Cursor) Release() {
	c.snapshot, c.skipped = nil, skipped{}
	c.merge.release()
}

// First moves to the first entry and reports whether there is one.
func (c *Cursor) First() bool { return c.Seek(c.merge.scope.Lower) }

// Last moves to the last entry and reports whether there is one.
func (c *Cursor) Last() bool {
	c.skipped.run = skippedRun{}
	return c.merge.last() && c.skipAbsent()
}

// Seek moves to the first entry whose key is not below key and reports whether there is one.
func (c *Cursor) Seek(key []byte) bool {
	c.skipped.run = skippedRun{}
	return c.merge.seek(key) && c.skipAbsent()
}

// SeekBefore moves to the last entry whose key is below key and reports whether there is one.
func (c *Cursor) SeekBefore(key []byte) bool {
	c.skipped.run = skippedRun{}
	return c.merge.seekBefore(key) && c.skipAbsent()
}

// Next moves to the next entry and reports whether there is one. After the last, the cursor has to
// be positioned again.
func (c *Cursor) Next() bool { return c.merge.next(keyspace.Forward) && c.skipAbsent() }

// Prev moves to the previous entry and reports whether there is one. Before the first, the cursor
// has to be positioned again.
func (c *Cursor) Prev() bool { return c.merge.next(keyspace.Reverse) && c.skipAbsent() }

// Walk calls yield for the current entry and for those beyond it in the direction of travel that
// need no comparison: at most limit entries, unless limit is negative. It cuts the first strip
// bytes off each key. Then it moves on, and returns how often it called yield, and whether it is on
// an entry and yield wants more. It is the fast way through many entries: each costs a call of
// yield and finding its bytes.
func (c *Cursor) Walk(
	strip, limit int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	m := &c.merge
	if !m.winner.plain() {
		return c.walkEntries(strip, limit, yield)
	}
	n := m.free
	if limit >= 0 {
		n = min(n, limit-1)
	}
	m.free -= n
	calls, more = m.winner.walk(n, m.direction, strip, yield)
	return calls, more && calls != limit && m.next(m.direction) && c.skipAbsent()
}

// walkEntries is Walk for entries of any kind: it looks at each of them until Walk can go on.
func (c *Cursor) walkEntries(
	strip, limit int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	m := &c.merge
	for m.winner != nil && !m.winner.plain() {
		var value []byte
		if m.scope.Read != ReadKeys {
			var err error
			if value, err = m.load(c.snapshot.Levels); err != nil {
				m.stop(err)
				break
			}
		}
		calls++
		if !yield(c.Key()[strip:], value) || calls == limit || !m.next(m.direction) ||
			!c.skipAbsent() {
			return calls, false
		}
	}
	return calls, m.winner != nil
}

// Valid reports whether the cursor is on an entry.
func (c *Cursor) Valid() bool { return c.merge.winner != nil }

// Key returns the current entry's key.
func (c *Cursor) Key() []byte { return c.merge.winner.currentKey() }

// Value returns the current entry's value, wherever it lies.
func (c *Cursor) Value() ([]byte, error) {
	if in := c.merge.winner; in.plain() {
		return in.value(), nil
	}
	return c.merge.load(c.snapshot.Levels)
}

// Until returns when the current entry expires, in milliseconds since 1970, or 0 if it does not.
func (c *Cursor) Until() uint64 { return c.merge.winner.until() }

// Snapshot returns the superversion that c walks.
func (c *Cursor) Snapshot() *Superversion { return c.snapshot }

// Err returns the error that ended the last move, or nil if the move met the end.
func (c *Cursor) Err() error { return c.merge.err }

// skipAbsent moves on until the current entry says that its key exists, and reports whether one
// does.
func (c *Cursor) skipAbsent() bool {
	m := &c.merge
	for m.winner != nil && !c.exists() {
		if !c.skipped.add(m) {
			return false
		}
		m.next(m.direction)
	}
	if c.skipped.run.entries > 0 && m.err == nil {
		c.skipped.end(m)
	}
	return m.winner != nil
}

// exists reports whether the current entry says that its key exists. The cursor asks for the time
// once, when it first matters, so that a loop is consistent.
func (c *Cursor) exists() bool {
	in := c.merge.winner
	if in.kind() == keyspace.KindDelete {
		return false
	}
	until := in.until()
	if until == 0 {
		return true
	}
	if c.now == 0 {
		c.now = c.snapshot.Levels.now()
	}
	return until > c.now
}
