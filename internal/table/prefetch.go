package table

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// prefetchBytes is how far a scan prefetches. It keeps a disk busy while the scan looks at what
// came before.
const prefetchBytes = 1 << 20

// prefetch asks for the blocks that the cursor comes to in direction d, from block b on. It asks
// for more when the last aheadBlocks of them are near, so that the disk is never idle.
func (c *Cursor) prefetch(b int, d keyspace.Direction) {
	next, left := b, 0
	if c.moved && d == keyspace.Reverse {
		next, left = c.asked-1, b-c.asked
	} else if c.moved {
		next, left = c.asked+1, c.asked-b
	}
	switch {
	case !c.moved || left < 0:
		next = b
	case left >= aheadBlocks || next < 0 || next == len(c.reader.slots):
		return
	}
	c.moved, c.asked = true, c.reader.prefetch(next, d, c.scope.Read)
}

// prefetch asks for the blocks that a scan in direction d comes to from block b on, unless they are
// in memory, and returns the last block that needs no prefetch now. The system does not read ahead
// by itself, because most reads are of a single value.
func (r *reader) prefetch(b int, d keyspace.Direction, read Reading) (asked int) {
	step, farthest := 1, len(r.slots)-1
	if d == keyspace.Reverse {
		step, farthest = -1, 0
	}
	if !r.mapped {
		return farthest
	}
	offset := func(b int) uint64 { return r.index.places[b].values }
	if read == ReadKeys {
		offset = func(b int) uint64 { return r.index.places[b].keys }
	}
	for asked = b; asked != farthest; asked += step {
		first, last := min(b, asked), max(b, asked)
		if offset(last+1)-offset(first) >= prefetchBytes {
			break
		}
	}
	first, last := min(b, asked), max(b, asked)
	// The first page does not tell: it may hold the end of the previous block.
	if p := r.data[offset(first):offset(last+1)]; !vfs.Resident(p[len(p)/2:]) {
		vfs.WillNeed(p)
	}
	return asked
}
