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
	i, step, hidden, keysOnly := c.at, 1, 0, c.scope.Read == ReadKeys
	if d == keyspace.Reverse {
		step = -1
	}
	c.at += n * step
	for left := n; left >= 0; left-- {
		var value []byte
		if !keysOnly {
			value = c.values.At(i)
		}
		if block.KindAt(c.kinds, i) != keyspace.KindPut {
			hidden++
		} else if !yield(c.keys.At(i)[strip:], value) {
			c.at = i
			return n - left + 1 - hidden, false
		}
		i += step
	}
	return n + 1 - hidden, true
}
