package table

import "github.com/stoatdb/stoat/internal/keyspace"

// Walk calls yield for the current entry and the n after it, or before it if reverse, all of which
// must be in the same block. It leaves out tombstones, and of each key the first strip bytes; values
// are nil if the cursor reads none. It ends on the last of them; if yield returns false, on that
// entry, and returns false.
func (c *Cursor) Walk(n int, reverse bool, strip int, yield func(key, value []byte) bool) bool {
	step, end := 1, c.at+n
	if reverse {
		step, end = -1, c.at-n
	}
	var value []byte
	for ; ; c.at += step {
		if c.tombstones == nil || c.Kind() == keyspace.KindPut {
			if !c.keysOnly {
				value = c.values.At(c.at)
			}
			if !yield(c.keys.At(c.at)[strip:], value) {
				return false
			}
		}
		if c.at == end {
			return true
		}
	}
}
