package table

import (
	"math"
	"runtime"

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

// seeksPerDecode is how many seeks into blocks of encoded values there are, more or less, for each
// block that is decoded as a whole, as for lookups; a seek is likely to be followed by more reads.
const seeksPerDecode = 8

// Cursor walks the entries of a [Table] in key order, tombstones included, in both directions. It
// must be initialised with Init. It holds the current block, so that moving within a block and
// looking at entries is indexing. Not safe for concurrent use.
//
// Keys and values must not be modified. Keys stay valid forever; values as long as the table is
// reachable. Moving past either end, or into a block that cannot be read, leaves the cursor on no
// entry: it has to be positioned anew.
type Cursor struct {
	at, count int // index in the block, and its number of entries; both 0 if on no entry
	keys      block.Column
	values    block.Column   // empty if the cursor reads none, or if they are encoded
	encoded   *block.Encoded // the values, if they are
	kinds     []byte
	parsed    *block.Keys // of the block
	block     int
	reader    *reader
	table     *Table
	err       error
	loaded    bool // the values of the block are, which cursors for merges do on demand
	reading   Reading
	moved     bool // it went from one block to the next since it was positioned
	asked     int  // the last block that was asked for in the direction of that move
}

// Init makes c a cursor over t that is on no entry.
func (c *Cursor) Init(t *Table, reading Reading) { *c = Cursor{table: t, reading: reading} }

// First moves to the first entry and reports whether there is one.
func (c *Cursor) First() bool { return c.open() && c.pass(0, false) }

// Last moves to the last entry and reports whether there is one.
func (c *Cursor) Last() bool { return c.open() && c.pass(len(c.reader.slots)-1, true) }

// SeekBlock moves to the first entry of block b and reports whether there is one. [Table.Blocks]
// says which there are.
func (c *Cursor) SeekBlock(b int) bool { return c.open() && c.enter(b, false) }

// Seek moves to the first entry whose key is not below key and reports whether there is one.
func (c *Cursor) Seek(key []byte) bool {
	b, i, ok := c.search(key)
	switch {
	case !ok:
		return false
	case b < 0:
		return c.pass(0, false)
	case i == 0:
		return c.pass(b, false)
	case !c.enter(b, false):
		return false
	case i == c.count:
		return c.nextBlock()
	}
	c.at = i
	return true
}

// SeekBefore moves to the last entry whose key is below key and reports whether there is one.
func (c *Cursor) SeekBefore(key []byte) bool {
	b, i, ok := c.search(key)
	switch {
	case !ok:
		return false
	case b < 0:
		return c.leave()
	case !c.enter(b, false):
		return false
	case i == 0:
		return c.prevBlock()
	}
	c.at = i - 1
	return true
}

// Next moves to the next entry and reports whether there is one.
func (c *Cursor) Next() bool {
	if i := c.at + 1; i < c.count {
		c.at = i
		return true
	}
	return c.nextBlock()
}

// Prev moves to the entry before and reports whether there is one.
func (c *Cursor) Prev() bool {
	if c.at > 0 {
		c.at--
		return true
	}
	return c.prevBlock()
}

// Valid reports whether the cursor is on an entry. The other accessors require that it is.
func (c *Cursor) Valid() bool { return c.count > 0 }

// Key returns the current entry's key.
func (c *Cursor) Key() []byte { return c.keys.At(c.at) }

// Value returns the current entry's value, if it is a put in a plain block.
func (c *Cursor) Value() []byte { return c.values.At(c.at) }

// Entry returns the current entry; without the value if the cursor reads keys only.
func (c *Cursor) Entry() keyspace.Entry { return c.entry(c.at) }

// entry returns entry i of the block.
func (c *Cursor) entry(i int) keyspace.Entry {
	e := keyspace.Entry{Kind: block.KindAt(c.kinds, i)}
	if e.Kind == keyspace.KindDelete {
		return e
	}
	e.Until = c.parsed.Until(i)
	switch {
	case c.reading == ReadKeys:
	case c.encoded != nil:
		c.encoded.Entry(i, &e)
	default:
		e.Value = c.values.At(i)
	}
	return e
}

// Kind returns what the current entry does.
func (c *Cursor) Kind() keyspace.Kind { return block.KindAt(c.kinds, c.at) }

// Until returns when the current entry expires, in milliseconds since 1970, or 0.
func (c *Cursor) Until() uint64 { return c.parsed.Until(c.at) }

// Plain reports whether the block that the cursor is in has puts and tombstones only, none of which
// expires or is encoded, so that [Cursor.Walk] and [Cursor.Value] may be used.
func (c *Cursor) Plain() bool { return c.encoded == nil && c.parsed.Plain() }

// WindowFirst returns the smallest key of the block that the cursor is in.
func (c *Cursor) WindowFirst() []byte { return c.keys.At(0) }

// WindowLast returns the largest key of the block that the cursor is in.
func (c *Cursor) WindowLast() []byte { return c.keys.At(c.count - 1) }

// Ahead returns how many entries of the block lie beyond the current one, in the given direction.
func (c *Cursor) Ahead(reverse bool) int {
	if reverse {
		return c.at
	}
	return c.count - 1 - c.at
}

// KeyAhead returns the key of the entry n entries ahead in the block, in the given direction. There
// must be one.
func (c *Cursor) KeyAhead(n int, reverse bool) []byte {
	if reverse {
		return c.keys.At(c.at - n)
	}
	return c.keys.At(c.at + n)
}

// Err returns the error that ended the last move, or nil if it simply met the end.
func (c *Cursor) Err() error { return c.err }

// open opens the table and forgets the last error.
func (c *Cursor) open() bool {
	if c.reader == nil {
		if c.reader, c.err = c.table.opened(); c.err != nil {
			return c.leave()
		}
	}
	c.err = nil
	return true
}

// search finds key as [reader.search] does. If ok is false, the cursor has an error.
func (c *Cursor) search(key []byte) (b, i int, ok bool) {
	if !c.open() {
		return 0, 0, false
	}
	b, _, i, _, c.err = c.reader.search(key)
	runtime.KeepAlive(c)
	if c.err != nil {
		return 0, 0, c.leave()
	}
	return b, i, true
}

// leave puts the cursor on no entry.
func (c *Cursor) leave() bool {
	c.at, c.count = 0, 0
	return false
}

func (c *Cursor) nextBlock() bool {
	if c.count > 0 && c.block+1 < len(c.reader.slots) {
		c.askAhead(c.block+1, false)
		return c.pass(c.block+1, false)
	}
	return c.leave()
}

func (c *Cursor) prevBlock() bool {
	if c.count > 0 && c.block > 0 {
		c.askAhead(c.block-1, true)
		return c.pass(c.block-1, true)
	}
	return c.leave()
}

// askAhead makes sure that block b and those behind it are on their way to memory.
func (c *Cursor) askAhead(b int, reverse bool) {
	if past := reverse && b < c.asked || !reverse && b > c.asked; past || !c.moved {
		c.moved, c.asked = true, c.reader.prefetch(b, reverse, c.reading == ReadKeys)
	}
}

// pass is enter on the way through the whole block: values are decoded, if the cursor is for that.
func (c *Cursor) pass(b int, last bool) bool { return c.load(b, true) && c.stand(last) }

// enter moves to the first entry of block b, or to the last.
func (c *Cursor) enter(b int, last bool) bool { return c.load(b, false) && c.stand(last) }

// stand puts the cursor, which is in a block, on its first entry or on the last.
func (c *Cursor) stand(last bool) bool {
	c.at = 0
	if last {
		c.at = c.count - 1
	}
	return true
}

// load makes block b the current one. If whole, a cursor for values has them decoded.
func (c *Cursor) load(b int, whole bool) bool {
	c.leave()
	keys, err := c.reader.keys(b)
	if c.loaded = c.reading > ReadKeys; c.loaded && err == nil {
		err = c.loadValues(b, keys, whole)
	}
	if err != nil {
		c.err = err
		return false
	}
	c.keys = *c.reader.flat(b, keys)
	c.parsed, c.kinds = keys, keys.Kinds()
	c.block, c.count = b, keys.Len()
	runtime.KeepAlive(c)
	return true
}

func (c *Cursor) loadValues(b int, keys *block.Keys, whole bool) error {
	values, encoded, err := c.reader.contents(b, keys)
	if encoded != nil && c.reading > ReadKeys &&
		(whole || c.reader.worthDecoding(encoded, uint64(b)<<16, seeksPerDecode)) {
		if c.reading == ReadValues {
			values, err = c.reader.decode(b, keys, encoded)
		} else {
			values, err = c.reader.heads(b, keys, encoded, int(c.reading))
		}
	}
	if err != nil {
		return err
	}
	if c.encoded = nil; values == nil {
		c.encoded = encoded
		return nil
	}
	c.values = *values
	return nil
}

// Peek returns the entry n entries ahead in the block, in the given direction. There must be one.
func (c *Cursor) Peek(n int, reverse bool) keyspace.Entry {
	if reverse {
		return c.entry(c.at - n)
	}
	return c.entry(c.at + n)
}
