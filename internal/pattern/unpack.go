package pattern

import (
	"encoding/binary"
	"math/bits"
)

// What to add, for hex digits above 9, to the character that would follow '9'.
const (
	hexLower = 'a' - '9' - 1
	hexUpper = 'A' - '9' - 1
)

// hex writes count hex digits of 4 bits at n. There must be room for them.
func (s *decoder) hex(n, count int, letters uint64) {
	p, out, bit, end := s.p, s.out, s.bit, n+count
	s.bit += 4 * uint(count)
	for ; n < end && n+8 <= len(out); n += 8 {
		putEight(out, n, hexEight(load(p, bit), letters))
		bit += 32
	}
	for word := hexEight(load(p, bit), letters); n < end; n++ {
		out[n] = byte(word)
		word >>= 8
	}
}

// hexEight returns the eight hex digits for the low 32 bits of w, the first in the low byte.
func hexEight(w, letters uint64) uint64 {
	w &= 1<<32 - 1
	w = (w | w<<16) & 0x0000FFFF0000FFFF
	w = (w | w<<8) & 0x00FF00FF00FF00FF
	w = (w | w<<4) & 0x0F0F0F0F0F0F0F0F
	above9 := (w + 0x0606060606060606) >> 4 & 0x0101010101010101
	return w + 0x3030303030303030 + above9*letters
}

// uuid writes a UUID, with hexLower or hexUpper digits.
func (s *decoder) uuid(p []byte, letters uint64) {
	out := (*[uuidBytes]byte)(p)
	b := hexEight(load(s.p, s.bit+32), letters)
	c := hexEight(load(s.p, s.bit+64), letters)
	binary.LittleEndian.PutUint64(out[0:], hexEight(load(s.p, s.bit), letters))
	binary.LittleEndian.PutUint32(out[9:], uint32(b))
	binary.LittleEndian.PutUint32(out[14:], uint32(b>>32))
	binary.LittleEndian.PutUint32(out[19:], uint32(c))
	binary.LittleEndian.PutUint32(out[24:], uint32(c>>32))
	binary.LittleEndian.PutUint64(out[28:], hexEight(load(s.p, s.bit+96), letters))
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	s.bit += 128
}

// bytes writes count bytes at n as they are. There must be room for them.
func (s *decoder) bytes(n, count int) {
	p, out, bit, end := s.p, s.out, s.bit, n+count
	s.bit += 8 * uint(count)
	for ; n < end && n+8 <= len(out); n += 8 {
		putEight(out, n, read(p, bit, 64))
		bit += 64
	}
	for word := load(p, bit); n < end; n++ {
		out[n] = byte(word)
		word >>= 8
	}
}

// digitsRoom is the room that digits need, however few they are.
const digitsRoom = maxDigits + 1

// putDecimal writes a number without leading zeros at n, and returns where it ends. It overwrites
// up to digitsRoom bytes.
func putDecimal(out []byte, n int, v uint64) int {
	switch {
	case v < 1e3:
		return putNumber(out, n, v)
	case v < 1e6:
		return putThree(out, putNumber(out, n, v/1e3), v%1e3)
	case v < 1e9:
		n = putThree(out, putNumber(out, n, v/1e6), v/1e3%1e3)
		return putThree(out, n, v%1e3)
	}
	count := decimalLen(v)
	putDigits(out, n, count, v)
	return n + count
}

// putDigits writes the last count decimal digits of v at n, of 1 to 20. It overwrites up to
// digitsRoom bytes.
func putDigits(out []byte, n, count int, v uint64) {
	end := n + count
	switch {
	case count <= 3:
		putLast(out, n, v%1e3, count)
	case count <= 6:
		putLast(out, n, v/1e3%1e3, count-3)
		putThree(out, end-3, v%1e3)
	case count <= 8:
		putEight(out, n, lastDigits(v%1e8, count))
	case count <= 16:
		putEight(out, n, lastDigits(v/1e8%1e8, count-8))
		putEight(out, end-8, eightDigits(v%1e8))
	default:
		putEight(out, n, lastDigits(v/1e16, count-16))
		putEight(out, end-16, eightDigits(v/1e8%1e8))
		putEight(out, end-8, eightDigits(v%1e8))
	}
}

// putEight writes eight bytes at n, of which the first is the low one.
func putEight(out []byte, n int, word uint64) {
	binary.LittleEndian.PutUint64(out[n:n+8:n+8], word)
}

// lastDigits returns the last n of eightDigits, at least one.
func lastDigits(v uint64, n int) uint64 { return eightDigits(v) >> (64 - 8*uint(n)) }

// eightDigits returns the decimal digits of v, which is less than 1e8, the first in the low byte.
// It halves the digits three times, and divides by multiplication.
func eightDigits(v uint64) uint64 {
	fours := v / 10000
	fours |= (v - fours*10000) << 32
	twos := fours * 10486 >> 20 & 0x0000007F0000007F
	twos |= (fours - twos*100) << 16
	return pairDigits(twos)
}

// pairDigits returns the decimal digits of four numbers below 100 with 16 bits each, the first in
// the low byte.
func pairDigits(twos uint64) uint64 {
	ones := twos * 103 >> 10 & 0x000F000F000F000F
	ones |= (twos - ones*10) << 8
	return ones | 0x3030303030303030
}

// decimalLen returns how many decimal digits v has.
func decimalLen(v uint64) int {
	v |= 1
	n := bits.Len64(v) * 1233 >> 12 // the logarithm, or one more
	if v >= powers[n] {
		n++
	}
	return n
}

// powers are the powers of 10 that fit 64 bits. They are immutable.
var powers = [maxDigits + 1]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19,
}

// numbers has the digits of numbers below 1000, the first in the low byte, and their count in the
// high byte; threes has them with leading zeros. They are immutable.
var numbers, threes = digitsBelow1000()

func digitsBelow1000() (numbers, threes [1000]uint32) {
	for v := range uint32(1000) {
		digits, length := ('0'+v/100)|('0'+v/10%10)<<8|('0'+v%10)<<16, uint32(decimalLen(uint64(v)))
		numbers[v], threes[v] = digits>>(8*(3-length))|length<<24, digits
	}
	return numbers, threes
}

// putNumber writes a number below 1000 at n, and returns where it ends. It overwrites 4 bytes.
func putNumber(out []byte, n int, v uint64) int {
	word := numbers[v]
	binary.LittleEndian.PutUint32(out[n:n+4:n+4], word)
	return n + int(word>>24)
}

// putThree writes three digits at n, and returns where they end. It overwrites 4 bytes.
func putThree(out []byte, n int, v uint64) int {
	binary.LittleEndian.PutUint32(out[n:n+4:n+4], threes[v])
	return n + 3
}

// putLast writes the last count of three digits at n. It overwrites 4 bytes.
func putLast(out []byte, n int, v uint64, count int) {
	binary.LittleEndian.PutUint32(out[n:n+4:n+4], threes[v]>>(24-8*uint(count)))
}
