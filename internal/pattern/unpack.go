package pattern

import (
	"encoding/binary"
	"math/bits"
)

// Alphabets.
const (
	lettersStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	lettersURL      = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

// What to add, for hex digits above 9, to the character that would follow '9'.
const (
	hexLower = 'a' - '9' - 1
	hexUpper = 'A' - '9' - 1
)

// Pairs of base64 characters, by their 12 bits. They are immutable.
var (
	pairsStandard = pairsOf(lettersStandard)
	pairsURL      = pairsOf(lettersURL)
)

func pairsOf(letters string) (pairs [1 << 12]uint16) {
	for i := range pairs {
		pairs[i] = uint16(letters[i&63]) | uint16(letters[i>>6])<<8
	}
	return pairs
}

// base64 appends n characters of 6 bits, the last of which has tail bits fewer.
func (s *decoder) base64(n int, pairs *[1 << 12]uint16, tail uint) {
	for ; n >= 8; n -= 8 {
		s.put(base64Eight(load(s.p, s.bit), pairs), 8)
		s.bit += 48
	}
	if n > 0 {
		word, last := load(s.p, s.bit), 6*uint(n-1)
		word = word&(1<<last-1) | word>>last<<tail&63<<last
		s.put(base64Eight(word, pairs), n)
		s.bit += 6*uint(n) - tail
	}
}

// base64Eight returns the eight base64 characters for the low 48 bits of w, the first in the low
// byte.
func base64Eight(w uint64, pairs *[1 << 12]uint16) uint64 {
	return uint64(pairs[w&4095]) | uint64(pairs[w>>12&4095])<<16 |
		uint64(pairs[w>>24&4095])<<32 | uint64(pairs[w>>36&4095])<<48
}

// hex appends n hex digits of 4 bits.
func (s *decoder) hex(n int, letters uint64) {
	for ; n > 0; n -= 8 {
		s.put(hexEight(load(s.p, s.bit), letters), min(n, 8))
		s.bit += 4 * uint(min(n, 8))
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

// uuid appends a UUID, with hexLower or hexUpper digits.
func (s *decoder) uuid(letters uint64) bool {
	if len(s.out)-s.n < uuidBytes {
		return false
	}
	out := (*[uuidBytes]byte)(s.out[s.n:])
	b := hexEight(load(s.p, s.bit+32), letters)
	c := hexEight(load(s.p, s.bit+64), letters)
	binary.LittleEndian.PutUint64(out[0:], hexEight(load(s.p, s.bit), letters))
	binary.LittleEndian.PutUint32(out[9:], uint32(b))
	binary.LittleEndian.PutUint32(out[14:], uint32(b>>32))
	binary.LittleEndian.PutUint32(out[19:], uint32(c))
	binary.LittleEndian.PutUint32(out[24:], uint32(c>>32))
	binary.LittleEndian.PutUint64(out[28:], hexEight(load(s.p, s.bit+96), letters))
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	s.n, s.bit = s.n+uuidBytes, s.bit+128
	return true
}

// bytes appends n bytes as they are.
func (s *decoder) bytes(n int) bool {
	n, ok := s.fit(n)
	if !ok {
		return false
	}
	out, p, bit := s.out[s.n:], s.p, s.bit
	s.n, s.bit = s.n+n, bit+8*uint(n)
	for ; n >= 8; n, out = n-8, out[8:] {
		binary.LittleEndian.PutUint64(out, read(p, bit, 64))
		bit += 64
	}
	word := load(p, bit)
	if len(out) >= 8 {
		binary.LittleEndian.PutUint64(out, word)
		return true
	}
	for i := range n {
		out[i] = byte(word)
		word >>= 8
	}
	return true
}

// digits appends the last n decimal digits of v, at most 20.
func (s *decoder) digits(v uint64, n int) bool {
	if n > 8 {
		if n > len(s.out)-s.n {
			return false
		}
		first := max(n-16, 0)
		s.put(lastDigits(v/1e16, first), first)
		s.put(lastDigits(v/1e8%1e8, n-first-8), n-first-8)
		n = 8
	}
	return s.put(lastDigits(v%1e8, n), n)
}

// lastDigits returns the last n of eightDigits, or 0 for none.
func lastDigits(v uint64, n int) uint64 { return eightDigits(v) >> (64 - 8*uint(n)) }

// eightDigits returns the decimal digits of v, which is less than 1e8, the first in the low byte.
// It halves the digits three times, and divides by multiplication.
func eightDigits(v uint64) uint64 {
	fours := v / 10000
	fours |= (v - fours*10000) << 32
	twos := fours * 10486 >> 20 & 0x0000007F0000007F
	twos |= (fours - twos*100) << 16
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

// digitsRoom is the room that up to nine digits need if they are written three at a time.
const digitsRoom = 10

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
