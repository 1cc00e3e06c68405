package pattern

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// builder makes a dictionary of tokens that are added in the order of their codes.
type builder struct {
	d       Dictionary
	heap    []byte
	scratch []op
}

func newBuilder() *builder {
	return &builder{d: Dictionary{steps: make([]step, 1)}}
}

// reserve makes room for so many tokens, most of which have one op, with phrases of at most so many
// bytes in all.
func (b *builder) reserve(tokens, phrases int) {
	b.d.tokens, b.d.ops = make([]token, 0, tokens), make([]op, 0, 2*tokens)
	b.heap = make([]byte, 0, phrases+padding)
}

// newPhrase adds bytes to the heap and returns the op that appends them.
func (b *builder) newPhrase(p []byte) op {
	at := uint32(len(b.heap))
	b.heap = append(b.heap, p...)
	return op{kind: kindPhrase, n: uint16(len(p)), at: at}
}

// phrase returns an op that appends the bytes. It refers to the same bytes in the heap if that is
// shorter: a phrase costs one byte besides its bytes, and a reference up to six.
func (b *builder) phrase(p []byte, program bool) op {
	if len(p) > 6 || program && len(p) > 4 {
		if at := bytes.Index(b.heap, p); at >= 0 {
			return op{kind: kindPhrase, n: uint16(len(p)), at: uint32(at)}
		}
	}
	return b.newPhrase(p)
}

func (b *builder) base(v uint64) uint32 {
	if i := slices.Index(b.d.bases, v); i >= 0 {
		return uint32(i)
	}
	b.d.bases = append(b.d.bases, v)
	return uint32(len(b.d.bases) - 1)
}

// add adds a token whose code has at least as many bits as the one before.
func (b *builder) add(ops []op, bits uint8) {
	b.d.tokens = append(b.d.tokens, token{first: uint32(len(b.d.ops)), bits: bits})
	b.d.ops = append(append(b.d.ops, ops...), op{})
}

func (b *builder) dictionary() (*Dictionary, error) {
	d := &b.d
	var zeros [padding]byte
	d.heap = append(b.heap, zeros[:]...)
	width := uint(d.tokens[len(d.tokens)-1].bits)
	d.lengths, d.table = make([]uint8, 1<<width), make([]uint32, 1<<width)
	next := uint32(0) // code of width bits, the first bit being the most significant
	for i := range d.tokens {
		t := &d.tokens[i]
		if next>>width != 0 {
			return nil, errors.New("dictionary has more tokens than codes")
		}
		t.code = uint16(bits.Reverse32(next) >> (32 - width))
		entry := d.addEntry(*t)
		for at := uint32(t.code); at < 1<<width; at += 1 << t.bits {
			d.lengths[at], d.table[at] = t.bits, entry
		}
		next += 1 << (width - uint(t.bits))
	}
	return d, nil
}

// addEntry returns the table entry for a token, and adds its steps if it needs any.
func (d *Dictionary) addEntry(t token) uint32 {
	ops := d.opsOf(t)
	if x := ops[0]; len(ops) == 1 && x.kind == kindPhrase && x.n <= padding {
		return uint32(x.n) | x.at<<entryAtShift
	}
	first := len(d.steps)
	next := step{}
	for _, x := range ops {
		if x.kind != kindPhrase {
			next.op, next.remembered = x, x.kind.remembered()
			d.steps = append(d.steps, next)
			next = step{}
			continue
		}
		if next.size > 0 { // a phrase follows another
			d.steps = append(d.steps, next)
		}
		next = step{at: x.at, size: x.n}
	}
	if next.size > 0 {
		d.steps = append(d.steps, next)
	}
	d.steps[len(d.steps)-1].last = true
	return uint32(first) << entryAtShift
}

func (x op) check() error {
	ok := false
	switch longest := int(x.n) + 1<<x.bits - 1; {
	case x.kind == kindPhrase:
		ok = x.n > 0
	case x.kind == kindNumber:
		ok = x.bits <= 64 && x.n == 0
	case x.kind == kindLittle || x.kind == kindBig:
		ok = x.bits <= 64 && x.n > 0 && x.n <= 8
	case x.kind.based():
		ok = x.bits <= maxTimeBits && x.n == 0
	case x.kind == kindDigits:
		ok = x.n > 0 && x.bits <= maxDigitsBits && longest <= maxDigits && x.at == 0
	case x.kind == kindBase64 || x.kind == kindBase64URL:
		ok = x.n > 0 && x.bits <= maxLengthBits && x.at <= 1
	case x.kind.counted():
		ok = x.n > 0 && x.bits <= maxLengthBits && x.at == 0
	case x.kind == kindSame:
		ok = x.n < maxRemembered
	case x.kind == kindUUID || x.kind == kindUUIDUpper || x.kind == kindCopy:
		ok = x.n == 0
	}
	if !ok {
		return fmt.Errorf("dictionary has an op %+v", x)
	}
	return nil
}
