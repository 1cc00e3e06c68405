package table

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Walk calls yield for the current entry and the n beyond it in direction d, all of which must be
// in the same window, which must be plain. It skips tombstones and cuts the first strip bytes off
// each key; values are nil with [ReadKeys]. It ends on the last entry, or on the one for which
// yield returned false, and returns how often it called yield and whether yield wants more.
func (c *Cursor) Walk(
	n int, d keyspace.Direction, strip int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	if d == keyspace.Reverse {
		return c.walkBack(n, strip, yield)
	}
	first, hidden, keysOnly := c.at, 0, c.scope.Read == ReadKeys
	c.at += n
	for i := first; i <= first+n; i++ {
		if block.KindAt(c.kinds, i) != keyspace.KindPut {
			hidden++
			continue
		}
		var value []byte
		if !keysOnly {
			value = c.values.At(i)
		}
		if !yield(c.keys.At(i)[strip:], value) {
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
	first, hidden, keysOnly := c.at, 0, c.scope.Read == ReadKeys
	c.at -= n
	for i := first; i >= first-n; i-- {
		if block.KindAt(c.kinds, i) != keyspace.KindPut {
			hidden++
			continue
		}
		var value []byte
		if !keysOnly {
			value = c.values.At(i)
		}
		if !yield(c.keys.At(i)[strip:], value) {
			c.at = i
			return first - i + 1 - hidden, false
		}
	}
	return n + 1 - hidden, true
}
