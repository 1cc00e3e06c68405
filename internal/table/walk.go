package table

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Walk calls yield for the current entry and the n after it, or before it if reverse, all of which
// must be in the same block, which must be plain. It leaves out tombstones, and of each key the
// first strip bytes; values are nil if the cursor reads none. It ends on the last of them, or on
// the one for which yield returned false, and returns how often it called yield and whether yield
// wants more.
func (c *Cursor) Walk(
	n int, reverse bool, strip int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	if reverse {
		return c.walkBack(n, strip, yield)
	}
	first, hidden := c.at, 0
	c.at += n
	for i := first; i <= first+n; i++ {
		if block.KindAt(c.kinds, i) != keyspace.KindPut {
			hidden++
		} else if !yield(c.keys.At(i)[strip:], c.valueAt(i)) {
			c.at = i
			return i - first + 1 - hidden, false
		}
	}
	return n + 1 - hidden, true
}

// walkBack is Walk in reverse.
func (c *Cursor) walkBack(
	n, strip int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	first, hidden := c.at, 0
	c.at -= n
	for i := first; i >= first-n; i-- {
		if block.KindAt(c.kinds, i) != keyspace.KindPut {
			hidden++
		} else if !yield(c.keys.At(i)[strip:], c.valueAt(i)) {
			c.at = i
			return first - i + 1 - hidden, false
		}
	}
	return n + 1 - hidden, true
}

// valueAt returns a value of the block, or nil if the cursor reads none.
func (c *Cursor) valueAt(i int) []byte {
	if c.reading == ReadKeys {
		return nil
	}
	return c.values.At(i)
}
