package table

import (
	"math"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Reading is what a cursor brings in of the entries it comes to: keys, and of each value so many
// bytes at least, ready for use where a scan passes.
type Reading int

const (
	ReadStored Reading = -1          // values once Load was called, and as they are stored
	ReadKeys   Reading = 0           // keys only
	ReadValues Reading = math.MaxInt // values as a whole
)

// Bounds is what of a table a cursor is to come to. If that is only a few entries of a block, it
// brings in no more.
type Bounds struct {
	Lower, Upper []byte         // the keys in [Lower, Upper); a nil Upper is no bound
	Limit        int            // about so many entries are wanted; 0 if that is not known
	Scratch      *block.Scratch // for their keys and values
}

// Cursor walks the entries of a [Table] in key order, tombstones included, in both directions. It
// must be initialised with Init. It holds a window: the entries of a block, or just those of them
// that it is to come to, so that moving within it and looking at entries is indexing. Not safe for
// concurrent use.
//
// Keys and values must not be modified. Keys stay valid forever, and values as long as the table is
// reachable, but in a cursor with bounds both until their scratch is reset. Moving past either end,
// or into a block that cannot be read, leaves the cursor on no entry: it has to be positioned anew.
type Cursor struct {
	at, count int            // index in the window, and its length; both 0 if on no entry
	keys      block.Column   // of the window, as are values and kinds
	values    block.Column   // empty if the cursor reads none, or if they are encoded
	encoded   *block.Encoded // the values of the block, if the window's are not decoded
	kinds     []byte
	parsed    *block.Keys // of the block
	first     int         // the index in the block of the window's first entry
	block     int
	reader    *reader
	table     *Table
	bounds    *Bounds // nil if there are none
	err       error
	loaded    bool // the values of the block are, which cursors for compactions do on demand
	reading   Reading
	above     bool // what is above the window is above the bounds
	below     bool // what is below the window is below the bounds
	done      bool // see Done
	moved     bool // it went from one block to the next since it was positioned
	asked     int  // the last block that was asked for in the direction of that move
}

// Init makes c a cursor over t that is on no entry.
func (c *Cursor) Init(t *Table, reading Reading) { *c = Cursor{table: t, reading: reading} }

// Bind tells c, which is on no entry, what it is to come to. From then on it may leave out all
// other entries. The bounds must stay as they are; nil is none. It is not for [ReadStored].
func (c *Cursor) Bind(bounds *Bounds) { c.bounds = bounds }

// First moves to the first entry and reports whether there is one.
func (c *Cursor) First() bool { return c.open() && c.pass(0, false) }

// Last moves to the last entry and reports whether there is one.
func (c *Cursor) Last() bool { return c.open() && c.pass(len(c.reader.slots)-1, true) }

// Seek moves to the first entry whose key is not below key and reports whether there is one.
func (c *Cursor) Seek(key []byte) bool {
	b, keys, i, ok := c.search(key)
	switch {
	case !ok:
		return false
	case b < 0:
		return c.pass(0, false)
	case i == 0:
		return c.pass(b, false)
	case i == keys.Len():
		return c.goOn(b+1, false)
	}
	return c.load(b, keys, i, false, false)
}

// SeekBefore moves to the last entry whose key is below key and reports whether there is one.
func (c *Cursor) SeekBefore(key []byte) bool {
	b, keys, i, ok := c.search(key)
	switch {
	case !ok:
		return false
	case b < 0:
		return c.leave()
	case i == 0:
		return c.goOn(b-1, true)
	}
	return c.load(b, keys, i-1, true, false)
}

// Next moves to the next entry and reports whether there is one.
func (c *Cursor) Next() bool {
	if i := c.at + 1; i < c.count {
		c.at = i
		return true
	}
	return c.nextWindow()
}

// Prev moves to the entry before and reports whether there is one.
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

// Entry returns the current entry; without the value if the cursor reads keys only.
func (c *Cursor) Entry() keyspace.Entry { return c.entry(c.at) }

// entry returns entry i of the window.
func (c *Cursor) entry(i int) keyspace.Entry {
	e := keyspace.Entry{Kind: block.KindAt(c.kinds, i)}
	if e.Kind == keyspace.KindDelete {
		return e
	}
	e.Until = c.parsed.Until(c.first + i)
	switch {
	case c.reading == ReadKeys:
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

// Plain reports whether the block that the cursor is in has puts and tombstones only, none of which
// expires or is encoded, so that [Cursor.Walk] and [Cursor.Value] may be used.
func (c *Cursor) Plain() bool { return c.encoded == nil && c.parsed.Plain() }

// WindowFirst returns the smallest key of the window.
func (c *Cursor) WindowFirst() []byte { return c.keys.At(0) }

// WindowLast returns the largest key of the window.
func (c *Cursor) WindowLast() []byte { return c.keys.At(c.count - 1) }

// Ahead returns how many entries of the window lie beyond the current one, in the given direction.
func (c *Cursor) Ahead(reverse bool) int {
	if reverse {
		return c.at
	}
	return c.count - 1 - c.at
}

// KeyAhead returns the key of the entry n entries ahead in the window, in the given direction.
// There must be one.
func (c *Cursor) KeyAhead(n int, reverse bool) []byte {
	if reverse {
		return c.keys.At(c.at - n)
	}
	return c.keys.At(c.at + n)
}

// Peek returns the entry n entries ahead in the window, in the given direction. There must be one.
func (c *Cursor) Peek(n int, reverse bool) keyspace.Entry {
	if reverse {
		return c.entry(c.at - n)
	}
	return c.entry(c.at + n)
}

// Err returns the error that ended the last move, or nil if it simply met the end.
func (c *Cursor) Err() error { return c.err }

// Done reports whether the last move ended because nothing of what is left is within the bounds,
// neither in this table nor in one behind it.
func (c *Cursor) Done() bool { return c.done }
