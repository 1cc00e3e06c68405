package pattern

const (
	lettersStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	lettersURL      = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

// alphabet is the characters of a kind of base64, by their 6 bits.
type alphabet struct {
	// offsets are what to add to the 6 bits of a character: of a capital letter, of any other letter,
	// and of each of the others.
	offsets [16]byte
	pairs   [1 << 12]uint16 // of characters, by their 12 bits
}

// The alphabets are immutable.
var (
	standard = newAlphabet(lettersStandard)
	urls     = newAlphabet(lettersURL)
)

func newAlphabet(letters string) *alphabet {
	a := new(alphabet)
	a.offsets[0] = letters[0]
	for i := 26; i < len(letters); i++ {
		a.offsets[max(i, 51)-50] = letters[i] - byte(i)
	}
	for i := range a.pairs {
		a.pairs[i] = uint16(letters[i&63]) | uint16(letters[i>>6])<<8
	}
	return a
}

// base64 writes count characters of 6 bits at n, the last of which has tail bits fewer. There must
// be room for them.
func (s *decoder) base64(n, count int, a *alphabet, tail uint) {
	p, out, bit, end := s.p, s.out, s.bit, n+count
	s.bit = bit + 6*uint(count) - tail
	whole := end
	if tail != 0 {
		whole--
		last := load(p, s.bit+tail-6) & (1<<(6-tail) - 1)
		out[whole] = byte(a.pairs[last<<tail])
	}
	for ; n+8 <= whole; n += 8 {
		putEight(out, n, base64Eight(load(p, bit), a))
		bit += 48
	}
	for word := base64Eight(load(p, bit), a); n < whole; n++ {
		out[n] = byte(word)
		word >>= 8
	}
}

// base64Eight returns the eight characters for the low 48 bits of w, the first in the low byte.
func base64Eight(w uint64, a *alphabet) uint64 {
	return uint64(a.pairs[w&4095]) | uint64(a.pairs[w>>12&4095])<<16 |
		uint64(a.pairs[w>>24&4095])<<32 | uint64(a.pairs[w>>36&4095])<<48
}
