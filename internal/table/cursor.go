package table

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Reading is what a cursor reads of values.
type Reading uint8

const (
	ReadKeys   Reading = iota // nothing
	ReadStored                // values as they are stored, once Load is called
	ReadHeads                 // at least the first Scope.HeadBytes of each value
	ReadValues                // whole values
)

// Scope says which entries a cursor visits and what it reads of them.
type Scope struct {
	Lower, Upper []byte // keys in [Lower, Upper); a nil Upper is no bound
	Read         Reading
	HeadBytes    int // more than 0 with ReadHeads

	// Once promises that the cursor passes all entries within the bounds once, or about Limit of
	// them if Limit is not 0. If these are only a few entries of a block, the cursor loads no others,
	// and puts their keys and values in Scratch. Without Once, it ignores the bounds. Once cannot be
	// combined with ReadStored.
	Once    bool
	Limit   int
	Scratch *block.Scratch
}

// decodes reports whether a cursor loads values as it moves, decoded if it scans.
func (s *Scope) decodes() bool { return s.Read >= ReadHeads }

// Cursor walks the entries of a [Table] in key order, tombstones included, in both directions. It
// must be initialised with Init. It holds a window: the entries of a block, or just those of them
// that its scope takes in, so that moving within the window and looking at entries is indexing. Not
// safe for concurrent use.
//
// Keys and values must not be modified. Keys stay valid forever, and values as long as the table is
// reachable; with a scope that says Once, both only until its scratch is reset. Moving past either
// end, or into a block that cannot be read, leaves the cursor on no entry: it has to be positioned
// again.
type Cursor struct {
	// The current entry's index in the window and the window's length, both 0 if on no entry. They
	// are not in the window so that Next is cheap enough for the compiler to inline.
	at, count int
	window

	scope  *Scope
	reader *reader
	table  *Table
	err    error
	done   bool   // see Done
	moved  bool   // it went from one block to the next since it was positioned
	asked  int    // the last block that was prefetched in the direction of that move
	asking uint64 // bytes that were prefetched last
	began  int    // the first block that was prefetched in that move, in a distant file

	passed int    // entries of whole blocks since it was positioned
	misses int    // blocks in a row that were not in memory
	ahead  *ahead // nil unless it has gone on for long in such blocks
}

// Init makes c a cursor over t that is on no entry. The scope must stay as it is.
func (c *Cursor) Init(t *Table, scope *Scope) {
	c.giveUpAhead()
	*c = Cursor{table: t, scope: scope}
}

// Release ends what goes on for the cursor in the background, and puts it on no entry.
func (c *Cursor) Release() { c.stop() }

// First moves to the first entry and reports whether there is one.
func (c *Cursor) First() bool { return c.open() && c.enter(0, keyspace.Forward) }

// Last moves to the last entry and reports whether there is one.
func (c *Cursor) Last() bool { return c.open() && c.enter(len(c.reader.slots)-1, keyspace.Reverse) }

// Seek moves to the first entry whose key is not below key and reports whether there is one.
func (c *Cursor) Seek(key []byte) bool {
	b, keys, i, ok := c.search(key)
	switch {
	case !ok:
		return false
	case b < 0:
		return c.enter(0, keyspace.Forward)
	case i == 0:
		return c.enter(b, keyspace.Forward)
	case i == keys.Len():
		return c.leave(b+1, keyspace.Forward)
	}
	return c.load(b, keys, i, keyspace.Forward, lookup)
}

// SeekBefore moves to the last entry whose key is below key and reports whether there is one.
func (c *Cursor) SeekBefore(key []byte) bool {
	b, keys, i, ok := c.search(key)
	switch {
	case !ok:
		return false
	case b < 0:
		return c.stop()
	case i == 0:
		return c.leave(b-1, keyspace.Reverse)
	}
	return c.load(b, keys, i-1, keyspace.Reverse, lookup)
}

// Next moves to the next entry and reports whether there is one.
func (c *Cursor) Next() bool {
	if i := c.at + 1; i < c.count {
		c.at = i
		return true
	}
	return c.nextWindow()
}

// Prev moves to the previous entry and reports whether there is one.
func (c *Cursor) Prev() bool {
	if c.at > 0 {
		c.at--
		return true
	}
	return c.prevWindow()
}

// Valid reports whether the cursor is on an entry. The other accessors require that it is.
func (c *Cursor) Valid() bool { return c.count > 0 }

// Key returns the current entry's key.
func (c *Cursor) Key() []byte { return c.keys.At(c.at) }

// Value returns the current entry's value, if it is a put in a plain block.
func (c *Cursor) Value() []byte { return c.values.At(c.at) }

// Entry returns the current entry; with [ReadKeys], without its value.
func (c *Cursor) Entry() keyspace.Entry { return c.entry(c.at) }

// EntryAhead returns the entry n entries ahead in the window, in direction d. There must be one.
func (c *Cursor) EntryAhead(n int, d keyspace.Direction) keyspace.Entry {
	if d == keyspace.Reverse {
		return c.entry(c.at - n)
	}
	return c.entry(c.at + n)
}

func (c *Cursor) entry(i int) keyspace.Entry {
	e := keyspace.Entry{Kind: block.KindAt(c.kinds, i)}
	if e.Kind == keyspace.KindDelete {
		return e
	}
	e.Until = c.parsed.Until(c.first + i)
	switch {
	case c.scope.Read == ReadKeys:
	case c.encoded != nil:
		c.encoded.Entry(c.first+i, &e)
	default:
		e.Value = c.values.At(i)
	}
	return e
}

// Kind returns what the current entry does.
func (c *Cursor) Kind() keyspace.Kind { return block.KindAt(c.kinds, c.at) }

// Until returns when the current entry expires, in milliseconds since 1970, or 0.
func (c *Cursor) Until() uint64 { return c.parsed.Until(c.first + c.at) }

// Plain reports whether all entries of the current block are tombstones, or puts that neither
// expire nor are encoded. [Cursor.Walk] and [Cursor.Value] need that.
func (c *Cursor) Plain() bool { return c.encoded == nil && c.parsed.Plain() }

// Ahead returns how many entries of the window lie beyond the current one in direction d.
func (c *Cursor) Ahead(d keyspace.Direction) int {
	if d == keyspace.Reverse {
		return c.at
	}
	return c.count - 1 - c.at
}

// KeyAhead returns the key n entries ahead in the window, in direction d. There must be one.
func (c *Cursor) KeyAhead(n int, d keyspace.Direction) []byte {
	if d == keyspace.Reverse {
		return c.keys.At(c.at - n)
	}
	return c.keys.At(c.at + n)
}

// Err returns the error that ended the last move, or nil if the move met the end.
func (c *Cursor) Err() error { return c.err }

// Done reports whether the last move ended because no entry is left within the bounds, neither in
// this table nor in the following ones.
func (c *Cursor) Done() bool { return c.done }
