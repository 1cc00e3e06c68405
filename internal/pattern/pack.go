package pattern

import (
	"encoding/binary"
	"math/bits"
)

// Classes of bytes.
const (
	classDigit = 1 << iota
	classHexLower
	classHexUpper
	classUpper
	classLower
	classStandard // of the standard base64 alphabet, except letters and digits
	classURL      // of the base64 alphabet for URLs, except letters and digits

	classAlnum = classDigit | classUpper | classLower
)

const invalid = 0xFF

// classes has the classes of each byte. It is immutable.
var classes = classesOf()

// Digits: the value of each byte in an alphabet, or invalid. They are immutable.
var (
	sixStandard = valuesOf(lettersStandard)
	sixURL      = valuesOf(lettersURL)
	fourLower   = valuesOf("0123456789abcdef")
	fourUpper   = valuesOf("0123456789ABCDEF")
)

func valuesOf(letters string) (values [256]byte) {
	for i := range values {
		values[i] = invalid
	}
	for i := range len(letters) {
		values[letters[i]] = byte(i)
	}
	return values
}

func classesOf() (classes [256]byte) {
	for c := '0'; c <= '9'; c++ {
		classes[c] = classDigit | classHexLower | classHexUpper
	}
	for c := 'a'; c <= 'z'; c++ {
		classes[c] = classLower
		classes[c-'a'+'A'] = classUpper
	}
	for c := 'a'; c <= 'f'; c++ {
		classes[c] |= classHexLower
		classes[c-'a'+'A'] |= classHexUpper
	}
	classes['+'], classes['/'] = classStandard, classStandard
	classes['-'], classes['_'] = classURL, classURL
	return classes
}

// spanOf returns how many leading bytes of p, up to limit, have one of the classes.
func spanOf(p []byte, class byte, limit int) int {
	n := 0
	for limit = min(limit, len(p)); n < limit && classes[p[n]]&class != 0; n++ {
	}
	return n
}

// parseDigits returns the number that the digits p are, at most 19.
func parseDigits(p []byte) uint64 {
	v := uint64(0)
	for ; len(p) >= 8; p = p[8:] {
		v = v*1e8 + parseEight(binary.LittleEndian.Uint64(p))
	}
	for _, c := range p {
		v = v*10 + uint64(c-'0')
	}
	return v
}

// parseEight returns the number that eight digits are, the first in the low byte. It combines
// neighbours three times.
func parseEight(w uint64) uint64 {
	w &= 0x0F0F0F0F0F0F0F0F
	w = (w*10 + w>>8) & 0x00FF00FF00FF00FF
	w = (w*100 + w>>16) & 0x0000FFFF0000FFFF
	return (w*10000 + w>>32) & 0xFFFFFFFF
}

// parseNumber returns the decimal number that p starts with, and its length. n is 0 if there is
// none, or it has a leading zero or is too large.
func parseNumber(p []byte) (v uint64, n int) {
	n = spanOf(p, classDigit, maxDigits+2)
	switch {
	case n == 0 || n > maxDigits+1 || p[0] == '0' && n > 1:
		return 0, 0
	case n == maxDigits+1:
		v = parseDigits(p[:maxDigits])
		last := uint64(p[maxDigits] - '0')
		if v > (1<<64-1-last)/10 {
			return 0, 0
		}
		return v*10 + last, n
	}
	return parseDigits(p[:n]), n
}

// putSix writes base64 characters as 6 bits each. It returns false if one is not in the alphabet.
func (w *writer) putSix(p []byte, values *[256]byte, tail uint) bool {
	bad := byte(0)
	for ; len(p) > 8; p = p[8:] {
		q := (*[8]byte)(p)
		a, b, c, d := values[q[0]], values[q[1]], values[q[2]], values[q[3]]
		e, f, g, h := values[q[4]], values[q[5]], values[q[6]], values[q[7]]
		bad |= a | b | c | d | e | f | g | h
		if bad == invalid {
			return false
		}
		w.put(uint64(a)|uint64(b)<<6|uint64(c)<<12|uint64(d)<<18|
			uint64(e)<<24|uint64(f)<<30|uint64(g)<<36|uint64(h)<<42, 48)
	}
	for i, c := range p {
		six := values[c]
		if six == invalid {
			return false
		}
		if i == len(p)-1 && tail > 0 {
			if six&(1<<tail-1) != 0 {
				return false
			}
			w.put(uint64(six>>tail), 6-tail)
			return true
		}
		w.put(uint64(six), 6)
	}
	return true
}

// putFour writes hex digits as 4 bits each. It returns false if one is not a digit.
func (w *writer) putFour(p []byte, values *[256]byte) bool {
	for len(p) > 0 {
		n := min(len(p), 12)
		v, bad := uint64(0), byte(0)
		for i := n - 1; i >= 0; i-- {
			four := values[p[i]]
			bad |= four
			v = v<<4 | uint64(four&15)
		}
		if bad == invalid {
			return false
		}
		w.put(v, 4*uint(n))
		p = p[n:]
	}
	return true
}

// putUUID writes a UUID. It returns false if p is not one.
func (w *writer) putUUID(p []byte, values *[256]byte) bool {
	return p[8] == '-' && p[13] == '-' && p[18] == '-' && p[23] == '-' &&
		w.putFour(p[:8], values) && w.putFour(p[9:13], values) && w.putFour(p[14:18], values) &&
		w.putFour(p[19:23], values) && w.putFour(p[24:], values)
}

func (w *writer) putBytes(p []byte) {
	for ; len(p) >= 7; p = p[7:] {
		q := (*[7]byte)(p)
		w.put(uint64(binary.LittleEndian.Uint32(q[:]))|
			uint64(q[4])<<32|uint64(q[5])<<40|uint64(q[6])<<48, 56)
	}
	for _, c := range p {
		w.put(uint64(c), 8)
	}
}

// integer returns the integer that up to 8 bytes are, in the byte order of the kind.
func integer(k kind, p []byte) uint64 {
	if k == kindBig {
		return bits.ReverseBytes64(loadShort(p, 0)) >> (64 - 8*len(p))
	}
	return loadShort(p, 0)
}
