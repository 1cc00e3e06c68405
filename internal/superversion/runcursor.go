package superversion

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
)

// runCursor walks the entries of a run: it is a cursor over one of the run's tables and moves on to
// the next table where that one ends.
type runCursor struct {
	run          *Run
	scope        *table.Scope
	at           int // the index in run of the table that the cursor is in
	table.Cursor     // over that table
	prefetched   int // how many values from the current one on need no prefetch
	err          error
}

// Last moves to the last entry and reports whether there is one.
func (c *runCursor) Last() bool {
	return c.enter(len(c.run.Tables)-1, keyspace.Reverse, (*table.Cursor).Last)
}

// Seek moves to the first entry whose key is not below key and reports whether there is one.
func (c *runCursor) Seek(key []byte) bool {
	return c.enter(c.run.search(key), keyspace.Forward,
		func(t *table.Cursor) bool { return t.Seek(key) })
}

// SeekBefore moves to the last entry whose key is below key and reports whether there is one.
func (c *runCursor) SeekBefore(key []byte) bool {
	return c.enter(min(c.run.search(key), len(c.run.Tables)-1), keyspace.Reverse,
		func(t *table.Cursor) bool { return t.SeekBefore(key) })
}

// Next moves to the next entry and reports whether there is one.
func (c *runCursor) Next() bool { return c.Cursor.Next() || c.leave(keyspace.Forward) }

// Prev moves to the previous entry and reports whether there is one.
func (c *runCursor) Prev() bool { return c.Cursor.Prev() || c.leave(keyspace.Reverse) }

// leave moves to the neighbouring table if the last move met the end of the current one.
func (c *runCursor) leave(d keyspace.Direction) bool {
	if c.err = c.Cursor.Err(); c.err != nil || c.Done() {
		return false
	}
	if d == keyspace.Reverse {
		return c.enter(c.at-1, d, (*table.Cursor).Last)
	}
	return c.enter(c.at+1, d, (*table.Cursor).First)
}

// enter moves to an entry of the table at index i with move. If that finds none, it moves to the
// nearest entry of the tables that follow in direction d.
func (c *runCursor) enter(i int, d keyspace.Direction, move func(*table.Cursor) bool) bool {
	step, nearest := 1, (*table.Cursor).First
	if d == keyspace.Reverse {
		step, nearest = -1, (*table.Cursor).Last
	}
	c.err = nil
	for ; i >= 0 && i < len(c.run.Tables); i, move = i+step, nearest {
		c.at, c.prefetched = i, 0
		c.Cursor.Init(c.run.Tables[i].Table, c.scope)
		if move(&c.Cursor) {
			return true
		}
		if c.err = c.Cursor.Err(); c.err != nil || c.Done() {
			return false
		}
	}
	return false
}
