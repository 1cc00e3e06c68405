package block

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// keepBytes is the capacity up to which a builder reuses its buffers for the next block.
const keepBytes = 1 << 20

// Builder collects the entries of one block. The zero Builder is empty. Not safe for concurrent
// use.
type Builder struct {
	encoding Encoding

	keys, values       []byte   // values are encoded if there is an encoder
	keyEnds, valueEnds []uint32 // where each entry's key and decoded value end
	encodedEnds        []uint32 // where each encoded value ends
	kinds              []byte   // of each entry
	untils             []uint64 // of each entry
	lent               bool     // values belongs to the caller
	mixed              bool     // some entry is not a put
	expires            bool     // some entry expires
}

// Encode says how values are stored from now on. The builder must be empty.
func (b *Builder) Encode(e Encoding) { b.encoding = e }

// Add appends an entry and copies its key and value. Keys must be strictly increasing, a tombstone
// has no value, there must be fewer than [MaxEntries], and a value that is already encoded must be
// so with the builder's dictionary.
func (b *Builder) Add(key []byte, e keyspace.Entry) {
	b.kinds = append(b.kinds, byte(e.Kind))
	b.untils = append(b.untils, e.Until)
	b.mixed = b.mixed || e.Kind != keyspace.KindPut
	b.expires = b.expires || e.Until != 0
	b.keys = append(b.keys, key...)
	b.keyEnds = append(b.keyEnds, uint32(len(b.keys)))
	b.valueEnds = append(b.valueEnds, uint32(b.ValueBytes()+e.Size()))
	encoder := b.encoding.Encoder
	switch {
	case encoder != nil && e.Kind == keyspace.KindPut && e.Dictionary == 0:
		b.values = encoder.append(b.values, e.Value)
	case b.lent:
		b.values = e.Value
	default:
		b.values = append(b.values, e.Value...)
	}
	if encoder != nil {
		b.encodedEnds = append(b.encodedEnds, uint32(len(b.values)))
	}
}

// AddAlone is Add for the only entry of the block. It does not copy the value, which must not
// change until the next Reset.
func (b *Builder) AddAlone(key []byte, e keyspace.Entry) {
	b.lent = true
	b.Add(key, e)
}

// Len returns the number of entries.
func (b *Builder) Len() int { return len(b.keyEnds) }

// KeyBytes returns the length of all keys together.
func (b *Builder) KeyBytes() int { return len(b.keys) }

// ValueBytes returns the length of all values together, decoded.
func (b *Builder) ValueBytes() int {
	if len(b.valueEnds) == 0 {
		return 0
	}
	return int(b.valueEnds[len(b.valueEnds)-1])
}

// Reset empties the builder. The encoding stays.
func (b *Builder) Reset() {
	keep := func(p []byte) []byte {
		if cap(p) > keepBytes {
			return nil
		}
		return p[:0]
	}
	if b.lent {
		b.values = nil
	}
	*b = Builder{
		encoding:    b.encoding,
		keys:        keep(b.keys),
		values:      keep(b.values),
		keyEnds:     b.keyEnds[:0],
		valueEnds:   b.valueEnds[:0],
		encodedEnds: b.encodedEnds[:0],
		kinds:       b.kinds[:0],
		untils:      b.untils[:0],
	}
}

// Key returns key i. It is valid until the next Reset.
func (b *Builder) Key(i int) []byte {
	start, end := part(b.keyEnds, i)
	return b.keys[start:end]
}

// part returns where part i starts and ends.
func part(ends []uint32, i int) (start, end uint32) {
	if i > 0 {
		start = ends[i-1]
	}
	return start, ends[i]
}

// Entry returns entry i without its key. Its value is valid until the next Reset.
func (b *Builder) Entry(i int) keyspace.Entry {
	start, end := part(b.valueEnds, i)
	e := keyspace.Entry{Kind: keyspace.Kind(b.kinds[i]), Until: b.untils[i]}
	if encoder := b.encoding.Encoder; encoder != nil {
		if isEncoded(b.kinds, i) {
			e.Dictionary, e.Length = encoder.Dictionary.Number, end-start
		}
		start, end = part(b.encodedEnds, i)
	}
	e.Value = b.values[start:end]
	return e
}

// AppendKeys appends the key part. The builder must not be empty.
func (b *Builder) AppendKeys(dst []byte) []byte {
	n, from := b.Len(), len(dst)
	h := keyHeader{form: formFixed, count: n, prefix: keyspace.Shared(b.Key(0), b.Key(n-1))}
	if b.mixed {
		h.flags |= flagKinds
	}
	if b.expires {
		h.flags |= flagExpiries
	}
	if length, same := b.sameLength(); same {
		h.suffix = b.sharedSuffix(length - h.prefix)
		h.middle = length - h.prefix - h.suffix
		dst = b.appendFixed(dst, h)
	} else {
		h.form = formVariable
		h.middle = len(b.keys) - n*h.prefix
		dst = b.appendVariable(dst, h)
	}
	first := b.Key(0)
	dst = append(dst, first[:h.prefix]...)
	dst = append(dst, first[len(first)-h.suffix:]...)
	if b.mixed {
		dst = append(dst, b.kinds...)
	}
	if b.expires {
		for _, until := range b.untils {
			dst = binary.LittleEndian.AppendUint64(dst, until)
		}
	}
	return seal(dst, from)
}

// sameLength returns the length of all keys, if it is the same.
func (b *Builder) sameLength() (length int, same bool) {
	length = len(b.Key(0))
	for i := range b.keyEnds {
		if len(b.Key(i)) != length {
			return 0, false
		}
	}
	return length, true
}

// sharedSuffix returns how many bytes at their end, at most most, all keys share. They have the
// same length.
func (b *Builder) sharedSuffix(most int) int {
	first := b.Key(0)
	for i := 1; i < b.Len() && most > 0; i++ {
		key := b.Key(i)
		n := 0
		for n < most && key[len(key)-1-n] == first[len(first)-1-n] {
			n++
		}
		most = n
	}
	if b.Len() == 1 {
		return 0
	}
	return most
}

// appendFixed appends the header and the columns of form 1.
func (b *Builder) appendFixed(dst []byte, h keyHeader) []byte {
	middle := func(i int) []byte { return b.Key(i)[h.prefix : h.prefix+h.middle] }
	headBytes := min(h.middle, headBytesMax)
	base := headOf(middle(0), headBytes)
	last := headOf(middle(h.count-1), headBytes) - base
	counting := true
	for i := 0; i < h.count && counting; i++ {
		counting = headOf(middle(i), headBytes)-base == uint64(i)
	}
	if !counting {
		h.width = (bits.Len64(last) + 7) / 8
	}
	dst = h.append(dst)
	for i := range h.count {
		dst = appendUint(dst, headOf(middle(i), headBytes)-base, h.width)
	}
	dst = binary.LittleEndian.AppendUint64(dst, base)
	for i := range h.count {
		dst = append(dst, middle(i)[headBytes:]...)
	}
	return dst
}

// appendVariable appends the header and the columns of form 2.
func (b *Builder) appendVariable(dst []byte, h keyHeader) []byte {
	h.width = 2
	if h.middle > math.MaxUint16 {
		h.width = 4
	}
	dst = h.append(dst)
	for i := range h.count {
		head := headOf(b.Key(i)[h.prefix:], variableHeadBytes)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(head))
	}
	end := 0
	for i := range h.count {
		end += len(b.Key(i)) - h.prefix
		dst = appendUint(dst, uint64(end), h.width)
	}
	for i := range h.count {
		dst = append(dst, b.Key(i)[h.prefix:]...)
	}
	return dst
}
