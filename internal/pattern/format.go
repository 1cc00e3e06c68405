package pattern

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const version = 1

// programMark distinguishes the lead byte of a serialised token: programMark plus the number of
// ops, or less for a phrase: its length less 1.
const programMark = 0x80

// refBit marks a phrase whose bytes are already in the heap.
const refBit = 0x80

var errShort = errors.New("dictionary is cut short")

// Append appends the serialised dictionary to dst.
func (d *Dictionary) Append(dst []byte) []byte {
	width := int(d.tokens[len(d.tokens)-1].bits)
	dst = append(dst, version, byte(width))
	counts := make([]uint64, width+1)
	for _, t := range d.tokens {
		counts[t.bits]++
	}
	for _, n := range counts[1:] {
		dst = binary.AppendUvarint(dst, n)
	}
	heap := uint32(0) // how much of the heap the tokens so far have added
	for _, t := range d.tokens {
		ops := d.opsOf(t)
		if x := ops[0]; len(ops) == 1 && x.kind == kindPhrase && x.n <= programMark && x.at == heap {
			dst = append(dst, byte(x.n-1))
			dst = append(dst, d.heap[x.at:x.at+uint32(x.n)]...)
			heap += uint32(x.n)
			continue
		}
		dst = append(dst, programMark|byte(len(ops)))
		for _, x := range ops {
			dst = d.appendOp(dst, x, heap)
			if x.kind == kindPhrase && x.at == heap {
				heap += uint32(x.n)
			}
		}
	}
	return dst
}

func (d *Dictionary) opsOf(t token) []op {
	n := 0
	for d.ops[int(t.first)+n].kind != kindEnd {
		n++
	}
	return d.ops[t.first : int(t.first)+n]
}

// appendOp appends an op of a program. heap is the size of the heap before it.
func (d *Dictionary) appendOp(dst []byte, x op, heap uint32) []byte {
	switch {
	case x.kind == kindPhrase && x.at == heap:
		dst = append(dst, byte(x.kind))
		dst = binary.AppendUvarint(dst, uint64(x.n))
		return append(dst, d.heap[x.at:x.at+uint32(x.n)]...)
	case x.kind == kindPhrase:
		dst = append(dst, byte(x.kind)|refBit)
		dst = binary.AppendUvarint(dst, uint64(x.n))
		return binary.AppendUvarint(dst, uint64(x.at))
	case x.kind.based():
		dst = append(dst, byte(x.kind), x.bits, byte(x.n))
		return binary.AppendUvarint(dst, d.bases[x.at])
	case x.kind.counted():
		dst = append(dst, byte(x.kind), x.bits, byte(x.at))
		return binary.AppendUvarint(dst, uint64(x.n))
	}
	return append(dst, byte(x.kind), byte(x.n))
}

// Parse returns the dictionary serialised in p. It does not keep p. It takes at most half a
// megabyte of memory, whatever p is.
func Parse(p []byte) (*Dictionary, error) {
	if len(p) > maxDictionaryBytes {
		return nil, fmt.Errorf("dictionary of %d bytes", len(p))
	}
	r := parser{rest: p, b: newBuilder()}
	if v := r.byte(); v != version && !r.short {
		return nil, fmt.Errorf("dictionary has version %d", v)
	}
	width := int(r.byte())
	if width < 1 || width > maxCodeBits {
		return nil, fmt.Errorf("dictionary has codes of %d bits", width)
	}
	lengths, err := r.lengths(width)
	if err != nil {
		return nil, err
	}
	r.b.reserve(len(lengths), len(r.rest))
	for _, n := range lengths {
		ops, err := r.token()
		if err != nil {
			return nil, err
		}
		r.b.add(ops, n)
	}
	if r.short {
		return nil, errShort
	}
	if len(r.rest) > 0 {
		return nil, fmt.Errorf("dictionary has %d bytes too many", len(r.rest))
	}
	return r.b.dictionary()
}

// parser cuts a serialised dictionary into its parts. If something is missing, it returns zeros and
// sets short.
type parser struct {
	rest  []byte
	b     *builder
	short bool
}

func (r *parser) byte() byte {
	if len(r.rest) == 0 {
		r.short = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *parser) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.short, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *parser) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.short, r.rest = true, nil
		return nil
	}
	p := r.rest[:n]
	r.rest = r.rest[n:]
	return p
}

// lengths reads how many codes there are of each length, and returns the length of each code.
func (r *parser) lengths(width int) ([]uint8, error) {
	var counts [maxCodeBits]int
	all := 0
	for bits := range width {
		count := r.uvarint()
		if count > uint64(len(r.rest)) || all+int(count) > maxTokens {
			return nil, fmt.Errorf("dictionary has %d codes of %d bits", count, bits+1)
		}
		counts[bits] = int(count)
		all += int(count)
	}
	lengths := make([]uint8, 0, all)
	for bits, count := range counts {
		for range count {
			lengths = append(lengths, uint8(bits+1))
		}
	}
	if r.short {
		return nil, errShort
	}
	if len(lengths) == 0 || int(lengths[len(lengths)-1]) != width {
		return nil, fmt.Errorf("dictionary has no code of %d bits", width)
	}
	return lengths, nil
}

// token reads the ops of a token. They are valid until the next call.
func (r *parser) token() ([]op, error) {
	lead := r.byte()
	if lead < programMark {
		phrase := r.bytes(uint64(lead) + 1)
		r.b.scratch = append(r.b.scratch[:0], r.b.newPhrase(phrase))
		return r.b.scratch, nil
	}
	r.b.scratch = r.b.scratch[:0]
	for range lead &^ programMark {
		x, err := r.op()
		if err != nil {
			return nil, err
		}
		r.b.scratch = append(r.b.scratch, x)
	}
	if len(r.b.scratch) == 0 && !r.short {
		return nil, errors.New("dictionary has a token without ops")
	}
	return r.b.scratch, nil
}

func (r *parser) op() (op, error) {
	lead := r.byte()
	k := kind(lead)
	x := op{kind: k}
	switch {
	case lead == refBit|byte(kindPhrase):
		n, at := r.uvarint(), r.uvarint()
		if size := uint64(len(r.b.heap)); n > maxPhraseBytes || n > size || at > size-n {
			return op{}, fmt.Errorf("dictionary refers to %d bytes at %d of %d", n, at, size)
		}
		x = op{kind: kindPhrase, n: uint16(n), at: uint32(at)}
	case k == kindPhrase:
		n := r.uvarint()
		if n > maxPhraseBytes {
			return op{}, fmt.Errorf("dictionary has a phrase of %d bytes", n)
		}
		x = r.b.newPhrase(r.bytes(n))
	case k.based():
		x.bits, x.n = r.byte(), uint16(r.byte())
		x.at = r.b.base(r.uvarint())
	case k.counted():
		x.bits, x.at = r.byte(), uint32(r.byte())
		n := r.uvarint()
		if n > maxPhraseBytes {
			return op{}, fmt.Errorf("dictionary has a field of %d bytes", n)
		}
		x.n = uint16(n)
	default:
		x.n = uint16(r.byte())
	}
	if r.short {
		return op{}, errShort
	}
	return x, x.check()
}
