package table

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Walk calls yield for the current entry and the n after it, or before it if reverse, all of which
// must be in the same block. It leaves out tombstones, and of each key the first strip bytes;
// values are nil if the cursor reads none. It ends on the last of them, or on the one for which
// yield returned false, and returns how often it called yield and whether yield wants more.
func (c *Cursor) Walk(
	n int, reverse bool, strip int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	step, i, end := 1, c.at, c.at+n
	if reverse {
		step, end = -1, c.at-n
	}
	c.at = end
	keys, values, tombstones := c.keys, c.values, c.tombstones
	for ; ; i += step {
		if block.KindAt(tombstones, i) == keyspace.KindPut {
			var value []byte
			if !c.keysOnly {
				value = values.At(i)
			}
			calls++
			if !yield(keys.At(i)[strip:], value) {
				c.at = i
				return calls, false
			}
		}
		if i == end {
			return calls, true
		}
	}
}
