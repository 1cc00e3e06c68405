package table

import "github.com/stoatdb/stoat/internal/vfs"

// prefetchBytes is how far a scan asks ahead. It is enough to keep a disk busy while what came
// before is looked at.
const prefetchBytes = 1 << 20

// prefetch asks for the blocks that a scan comes to from block b on, in the given direction, if
// they are not in memory, and returns the last block that needs no asking for. The system does not
// read ahead by itself, because most reads are of one value somewhere.
func (r *reader) prefetch(b int, reverse, keysOnly bool) (asked int) {
	if !r.mapped {
		return r.farthest(reverse)
	}
	offset := func(b int) uint64 { return r.index.places[b].values }
	if keysOnly {
		offset = func(b int) uint64 { return r.index.places[b].keys }
	}
	asked = b
	for step := direction(reverse); asked != r.farthest(reverse); asked += step {
		first, last := min(b, asked), max(b, asked)
		if offset(last+1)-offset(first) >= prefetchBytes {
			break
		}
	}
	first, last := min(b, asked), max(b, asked)
	// The first page would not tell: it may have the end of the block before.
	if p := r.data[offset(first):offset(last+1)]; !vfs.Resident(p[len(p)/2:]) {
		vfs.WillNeed(p)
	}
	return asked
}

// farthest returns the last block in the given direction.
func (r *reader) farthest(reverse bool) int {
	if reverse {
		return 0
	}
	return len(r.slots) - 1
}

func direction(reverse bool) int {
	if reverse {
		return -1
	}
	return 1
}
