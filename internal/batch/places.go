package batch

import (
	"slices"
	"sort"
)

// Places maps the bytes of an arena to offsets in a log file. It changes with the arena: it is safe
// for concurrent use only after the last write to the arena.
type Places struct {
	extents []extent // in arena order
}

// extent is a range of a chunk that is contiguous in the log.
type extent struct {
	chunk, start, end int32
	offset            int64 // in the log, of start
}

// Value returns the offset in the log file of the value of r's entry. ok is false if the entry is
// in no frame that was taken or replayed.
func (p *Places) Value(r Ref) (offset int64, ok bool) {
	chunk, at := int32(r.chunk), int32(r.offset)
	i := p.search(chunk, at+1) - 1
	if i < 0 {
		return 0, false
	}
	x := p.extents[i]
	if x.chunk != chunk || at >= x.end {
		return 0, false
	}
	return x.offset + int64(at-x.start) + int64(r.KeyLen()), true
}

// add records an extent that overlaps no other, and joins it to the one that it continues.
func (p *Places) add(x extent) {
	i := p.search(x.chunk, x.start)
	if i > 0 {
		before := &p.extents[i-1]
		if before.chunk == x.chunk && before.end == x.start &&
			before.offset+int64(before.end-before.start) == x.offset {
			before.end = x.end
			return
		}
	}
	p.extents = slices.Insert(p.extents, i, x)
}

// forget removes what was recorded since m, which is between two frames.
func (p *Places) forget(m Mark) {
	p.extents = slices.DeleteFunc(p.extents, func(x extent) bool {
		return !m.follows(x.chunk, x.start)
	})
	if i := p.search(m.current+1, 0) - 1; i >= 0 && p.extents[i].chunk == m.current {
		p.extents[i].end = min(p.extents[i].end, m.tail)
	}
}

// search returns the index of the first extent that starts at this position or after it.
func (p *Places) search(chunk, start int32) int {
	return sort.Search(len(p.extents), func(i int) bool {
		x := p.extents[i]
		return x.chunk > chunk || x.chunk == chunk && x.start >= start
	})
}
