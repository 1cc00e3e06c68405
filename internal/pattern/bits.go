package pattern

import "encoding/binary"

// Bits of an encoded value follow each other from the least significant bit of its first byte.

// loadedBits is how many bits load returns at least.
const loadedBits = 57

// load returns the bits of p from the given one: at least loadedBits, and zeros beyond the end.
func load(p []byte, bit uint) uint64 {
	if len(p) < 8 {
		return loadShort(p, bit)
	}
	i := min(bit>>3, uint(len(p)-8))
	return binary.LittleEndian.Uint64(p[i:i+8:i+8]) >> (bit - 8*i)
}

// loadShort is load where p has at most 8 bytes.
func loadShort(p []byte, bit uint) uint64 {
	var word uint64
	for i, c := range p {
		word |= uint64(c) << (8 * i)
	}
	return word >> bit
}

// read returns n bits of p, at most 64, from the given one.
func read(p []byte, bit, n uint) uint64 {
	word := load(p, bit)
	if n > 56 {
		word = word&(1<<32-1) | load(p, bit+32)<<32
	}
	return word & (1<<n - 1)
}

// writer appends bits to a buffer.
type writer struct {
	buf []byte
	at  int    // whole bytes written
	acc uint64 // the bits that follow them
	n   uint   // how many of those, fewer than 8
	max int    // whole bytes that may precede a field
}

// slack is how much longer than its content the buffer of a writer must be.
const slack = 8

// reset empties the writer and limits it to size bytes, with room for a last step beyond them.
func (w *writer) reset(size, room int) {
	w.max = size
	if size += room + slack; len(w.buf) < size {
		w.buf = make([]byte, size+size/2)
	}
	w.at, w.acc, w.n = 0, 0, 0
}

// fits reports whether there is room for n more bits, except for those of the last byte.
func (w *writer) fits(n uint) bool { return w.at+int(n>>3) <= w.max }

// put writes the n low bits of v, at most 56. Its other bits are zero.
func (w *writer) put(v uint64, n uint) {
	w.acc |= v << w.n
	w.n += n
	binary.LittleEndian.PutUint64(w.buf[w.at:], w.acc)
	w.at += int(w.n >> 3)
	w.acc >>= w.n &^ 7
	w.n &= 7
}

// putLong writes the n low bits of v, at most 64.
func (w *writer) putLong(v uint64, n uint) {
	if n > 32 {
		w.put(v&(1<<32-1), 32)
		v, n = v>>32, n-32
	}
	w.put(v, n)
}

// bytes returns what was written. The unused bits of the last byte are zero.
func (w *writer) bytes() []byte {
	if w.n > 0 {
		return w.buf[:w.at+1]
	}
	return w.buf[:w.at]
}
