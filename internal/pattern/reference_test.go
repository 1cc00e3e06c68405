package pattern

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// reference is a decoder that is slow and obvious. It reads a serialised dictionary as
// docs/format.md describes it, and encoded values bit by bit.
type reference struct {
	tokens map[string][]refOp // by their codes, as text of 0 and 1
}

// refOp is an op as the reference sees it.
type refOp struct {
	kind   kind
	bits   int
	n      int
	whole  bool
	base   uint64
	phrase []byte
}

var errReference = errors.New("the reference finds it damaged")

// refParser reads a serialised dictionary that Parse accepts.
type refParser struct {
	p    []byte
	heap []byte
}

func newReference(serial []byte) *reference {
	r := refParser{p: serial[1:]} // the version
	width := int(r.byte())
	counts := make([]int, width+1)
	for bits := 1; bits <= width; bits++ {
		counts[bits] = r.uvarint()
	}
	ref := &reference{tokens: make(map[string][]refOp)}
	code := 0
	for bits := 1; bits <= width; bits++ {
		code *= 2
		for range counts[bits] {
			ref.tokens[fmt.Sprintf("%0*b", bits, code)] = r.token()
			code++
		}
	}
	return ref
}

func (r *refParser) byte() byte { return r.bytes(1)[0] }

func (r *refParser) bytes(n int) []byte {
	p := r.p[:n]
	r.p = r.p[n:]
	return p
}

func (r *refParser) uvarint() int { return int(r.uint64()) }

func (r *refParser) uint64() uint64 {
	v, n := binary.Uvarint(r.p)
	r.p = r.p[n:]
	return v
}

func (r *refParser) token() (ops []refOp) {
	head := r.byte()
	if head < 0x80 {
		phrase := r.bytes(int(head) + 1)
		r.heap = append(r.heap, phrase...)
		return []refOp{{kind: kindPhrase, phrase: phrase}}
	}
	for range head - 0x80 {
		ops = append(ops, r.op())
	}
	return ops
}

func (r *refParser) op() refOp {
	head := r.byte()
	if head == 0x80|byte(kindPhrase) {
		n, at := r.uvarint(), r.uvarint()
		return refOp{kind: kindPhrase, phrase: bytes.Clone(r.heap[at : at+n])}
	}
	x := refOp{kind: kind(head)}
	switch x.kind {
	case kindPhrase:
		x.phrase = r.bytes(r.uvarint())
		r.heap = append(r.heap, x.phrase...)
	case kindNumber, kindTime, kindTimeSpace, kindDate, kindLittle, kindBig:
		x.bits, x.n, x.base = int(r.byte()), int(r.byte()), r.uint64()
	case kindDigits, kindHex, kindHexUpper, kindBase64, kindBase64URL, kindBytes:
		x.bits, x.whole, x.n = int(r.byte()), r.byte() == 1, r.uvarint()
	default:
		x.n = int(r.byte())
	}
	return x
}

// refState is the state of decoding an encoded value.
type refState struct {
	bits   []byte // each 0 or 1
	value  []byte
	fields [][]byte
}

// take takes n bits, least significant first.
func (s *refState) take(n int) *big.Int {
	v := new(big.Int)
	for i := range n {
		if len(s.bits) == 0 {
			panic(errReference)
		}
		v.SetBit(v, i, uint(s.bits[0]))
		s.bits = s.bits[1:]
	}
	return v
}

// decode returns the value that was encoded.
func (ref *reference) decode(encoded []byte) (value []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			if r != any(errReference) {
				panic(r)
			}
			value, err = nil, errReference
		}
	}()
	if len(encoded) == 0 {
		return nil, nil
	}
	if encoded[len(encoded)-1] == 0 {
		return encoded[:len(encoded)-1], nil
	}
	s := &refState{}
	for _, b := range encoded {
		for i := range 8 {
			s.bits = append(s.bits, b>>i&1)
		}
	}
	s.bits = s.bits[:bytes.LastIndexByte(s.bits, 1)]
	for len(s.bits) > 0 {
		code := ""
		for ref.tokens[code] == nil {
			if len(code) > maxCodeBits {
				return nil, errReference
			}
			code += s.take(1).String()
		}
		for _, x := range ref.tokens[code] {
			s.do(x)
		}
	}
	return s.value, nil
}

// do executes an op.
func (s *refState) do(x refOp) {
	switch x.kind {
	case kindPhrase:
		s.value = append(s.value, x.phrase...)
		return
	case kindSame:
		if x.n >= len(s.fields) || x.n >= maxRemembered {
			panic(errReference)
		}
		s.value = append(s.value, s.fields[len(s.fields)-1-x.n]...)
		return
	case kindCopy:
		s.copy()
		return
	}
	field := s.field(x)
	s.value = append(s.value, field...)
	switch x.kind {
	case kindBytes, kindLittle, kindBig:
	default:
		s.fields = append(s.fields, field)
	}
}

func (s *refState) copy() {
	n := int(s.take(4).Int64())
	if n == 15 {
		n += int(s.take(16).Int64())
	}
	width := 0
	for 1<<width < len(s.value) {
		width++
	}
	distance := 1 + int(s.take(width).Int64())
	if distance > len(s.value) {
		panic(errReference)
	}
	for range n + 4 {
		s.value = append(s.value, s.value[len(s.value)-distance])
	}
}

// field returns what an op that is a field appends.
func (s *refState) field(x refOp) []byte {
	switch x.kind {
	case kindNumber, kindLittle, kindBig, kindTime, kindTimeSpace, kindDate:
		return refNumber(x, s.take(x.bits).Uint64()+x.base)
	case kindUUID, kindUUIDUpper:
		const lower, upper = "0123456789abcdef", "0123456789ABCDEF"
		digits := s.letters(32, 4, lower)
		if x.kind == kindUUIDUpper {
			digits = strings.ToUpper(digits)
		}
		return []byte(strings.Join([]string{
			digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:],
		}, "-"))
	}
	n := x.n + int(s.take(x.bits).Int64())
	switch x.kind {
	case kindDigits:
		most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
		width := most.Sub(most, big.NewInt(1)).BitLen()
		text := fmt.Sprintf("%0*d", n, s.take(width))
		return []byte(text[len(text)-n:])
	case kindHex:
		return []byte(s.letters(n, 4, "0123456789abcdef"))
	case kindHexUpper:
		return []byte(s.letters(n, 4, "0123456789ABCDEF"))
	case kindBytes:
		var field []byte
		for range n {
			field = append(field, byte(s.take(8).Int64()))
		}
		return field
	}
	return s.base64(x, n)
}

// letters takes n characters of so many bits each.
func (s *refState) letters(n, bits int, alphabet string) string {
	text := ""
	for range n {
		text += string(alphabet[s.take(bits).Int64()])
	}
	return text
}

func (s *refState) base64(x refOp, n int) []byte {
	alphabet := lettersStandard
	if x.kind == kindBase64URL {
		alphabet = lettersURL
	}
	if !x.whole || n%4 < 2 {
		return []byte(s.letters(n, 6, alphabet))
	}
	text := s.letters(n-1, 6, alphabet)
	unused := 8 - 2*(n%4) // 2 characters have 12 bits, of which 8 are used; 3 have 18, 16 used
	return append([]byte(text), alphabet[s.take(6-unused).Int64()<<unused])
}

// refNumber returns what an op that is a number appends.
func refNumber(x refOp, v uint64) []byte {
	const lastDay = 2932896 // 9999-12-31
	switch x.kind {
	case kindNumber:
		return fmt.Append(nil, v)
	case kindLittle:
		return binary.LittleEndian.AppendUint64(nil, v)[:x.n]
	case kindBig:
		return binary.BigEndian.AppendUint64(nil, v)[8-x.n:]
	case kindDate:
		return time.Unix(int64(v%(lastDay+1))*86400, 0).UTC().AppendFormat(nil, time.DateOnly)
	}
	at := time.Unix(int64(v%((lastDay+1)*86400)), 0).UTC()
	if x.kind == kindTimeSpace {
		return at.AppendFormat(nil, time.DateTime)
	}
	return at.AppendFormat(nil, "2006-01-02T15:04:05")
}
