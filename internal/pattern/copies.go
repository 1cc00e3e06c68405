package pattern

import (
	"encoding/binary"
	"math/bits"
)

// copies finds earlier occurrences of bytes in a value. It remembers one position for each hash of
// four bytes; the encoder adds the positions where tokens start.
type copies struct {
	last []uint32 // their positions, counted through all values
	base uint32   // where this value starts; positions before it do not count
	end  uint32
}

const (
	copySlotBits = 12
	copyMax      = copyMin + copyLong + 1<<copyLongBits - 1
)

// reset starts a value of size bytes, less than 2 GiB.
func (c *copies) reset(size int) {
	c.base = c.end
	if c.last == nil || uint64(c.base)+uint64(size) >= 1<<32 {
		c.last = make([]uint32, 1<<copySlotBits)
		c.base = 1
	}
	c.end = c.base + uint32(size)
}

// find returns where the bytes at i occurred earlier in the value, and how many of them, or 0. It
// remembers i.
func (c *copies) find(value []byte, i int) (from, size int) {
	if len(value)-i < 8 {
		return 0, 0
	}
	four := binary.LittleEndian.Uint32(value[i:])
	slot := &c.last[four*0x9E3779B1>>(32-copySlotBits)]
	at := *slot
	*slot = c.base + uint32(i)
	if at < c.base {
		return 0, 0
	}
	from = int(at - c.base)
	if from >= i || binary.LittleEndian.Uint32(value[from:]) != four {
		return 0, 0
	}
	return from, common(value[from:], value[i:min(len(value), i+copyMax)])
}

// common returns how many leading bytes p and q share. q is not longer than p.
func common(p, q []byte) int {
	n := 0
	for ; n+8 <= len(q); n += 8 {
		if x := binary.LittleEndian.Uint64(p[n:]) ^ binary.LittleEndian.Uint64(q[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
	}
	for n < len(q) && p[n] == q[n] {
		n++
	}
	return n
}

// tryCopy writes a copy for the bytes at i, if there is one that is better than another choice.
func (e *Encoder) tryCopy(i int, other choice) int {
	if e.x.copy < 0 {
		return i
	}
	from, size := e.copies.find(e.value, i)
	if size == 0 {
		return i
	}
	width := distanceBits(i)
	more := size - copyMin
	c := choice{e.x.copy, size, int(e.d.tokens[e.x.copy].bits) + copyBits + int(width)}
	if more >= copyLong {
		c.bits += copyLongBits
	}
	if !c.better(other) {
		e.work += size / 8
		return i
	}
	e.flush(i)
	e.token(c.token)
	e.w.put(uint64(min(more, copyLong)), copyBits)
	if more >= copyLong {
		e.w.put(uint64(more-copyLong), copyLongBits)
	}
	e.w.put(uint64(i-from-1), width)
	return i + size
}
