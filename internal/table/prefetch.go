package table

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// prefetchBytes is how far a scan prefetches. It keeps a disk busy while the scan looks at what
// came before.
const prefetchBytes = 1 << 20

// prefetch asks for the blocks that the cursor comes to in direction d, from block b on and within
// its bounds. It asks for more when the last aheadBlocks of them are near, so that the disk is
// never idle.
func (c *Cursor) prefetch(b int, d keyspace.Direction) {
	step, next := 1, b
	if d == keyspace.Reverse {
		step = -1
	}
	if left := (c.asked - b) * step; c.moved && left >= 0 {
		if left >= aheadBlocks {
			return
		}
		next = c.asked + step
	}
	if end := b + step*(c.blocksAhead(b, d)-1); (end-next)*step >= 0 {
		c.moved, c.asked = true, c.reader.prefetch(next, end, c.scope.Read)
	}
}

// prefetch asks for the blocks from first to last, in this order, unless they are in memory, and
// returns the last block that needs no prefetch now. The system does not read ahead by itself,
// because most reads are of a single value.
func (r *reader) prefetch(first, last int, read Reading) (asked int) {
	if !r.mapped {
		return last
	}
	step, bytes := 1, uint64(0)
	if last < first {
		step = -1
	}
	places := r.index.places
	for asked = first; ; asked += step {
		if read != ReadKeys {
			bytes += places[asked+1].values - places[asked].values
		}
		bytes += places[asked+1].keys - places[asked].keys
		if asked == last || bytes >= prefetchBytes {
			break
		}
	}
	low, high := places[min(first, asked)], places[max(first, asked)+1]
	if read == ReadKeys {
		r.ask(low.keys, high.keys)
	} else if r.ask(low.values, high.values) {
		r.ask(low.keys, high.keys)
	}
	return asked
}

// ask asks for the bytes [from, to) of a map, unless they are in memory, and reports whether it
// did. The first page does not tell: it may hold the end of what was read before.
func (r *reader) ask(from, to uint64) bool {
	p := r.data[from:to]
	cold := !vfs.Resident(p[len(p)/2:])
	if cold {
		vfs.WillNeed(p)
	}
	return cold
}
