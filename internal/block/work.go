package block

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
)

// What decoding a block with zstd takes, in hundredths of a nanosecond, as in package pattern.
const (
	zstdWorkOfBlock    = 200_000
	zstdWorkOfByte     = 4   // of the values
	zstdWorkOfLiteral  = 67  // a Huffman-coded byte
	zstdWorkOfSequence = 900 // literals, then a copy of earlier bytes
)

// Work estimates how many nanoseconds it takes to decode all values of p, which AppendValues made,
// by counting what there is to do.
func (b *Builder) Work(p []byte) (ns int, err error) {
	codec, l, r, err := parseHeader(p, b.Len())
	if err != nil || codec == Raw {
		return 0, err
	}
	if codec == Zstd {
		return zstdWork(r.rest, l.size)
	}
	parsed, err := b.encoding.Encoder.Dictionary.get()
	for i := range b.Len() {
		if err == nil && isEncoded(b.kinds, i) {
			ns += parsed.Work(b.Entry(i).Value)
		}
	}
	return ns, err
}

// zstdWork returns the work for the zstd frame p, which holds size bytes.
func zstdWork(p []byte, size int) (ns int, err error) {
	var h zstd.Header
	if err := h.Decode(p); err != nil {
		return 0, err
	}
	r := cutter{rest: p[min(h.HeaderSize, len(p)):]}
	work := size * zstdWorkOfByte
	for last := false; !last && !r.short; {
		var header [4]byte
		copy(header[:], r.cut(3, 1))
		word := binary.LittleEndian.Uint32(header[:])
		kind, n := word>>1&3, int(word>>3)
		if last = word&1 != 0; kind == 1 {
			n = 1 // byte, to be repeated
		}
		if content := r.cut(n, 1); kind == 2 {
			literals, sequences := countZstd(content)
			work += literals*zstdWorkOfLiteral + sequences*zstdWorkOfSequence
		}
		work += zstdWorkOfBlock
	}
	if r.short {
		return 0, errShort
	}
	return work / 100, nil
}

// countZstd returns how many literals of a compressed zstd block are Huffman-coded, and how many
// sequences there are, as the headers of its two sections say (RFC 8878, 3.1.1.3).
func countZstd(p []byte) (literals, sequences int) {
	var start [8]byte
	copy(start[:], p)
	word := binary.LittleEndian.Uint64(start[:])
	h := literalHeaders[word>>2&3+word<<1&4]
	size := int(word >> h.shift & (1<<h.bits - 1))
	stored := size
	switch word & 3 {
	case 1: // one byte, to be repeated
		stored = 1
	case 2, 3:
		literals, stored = size, int(word>>(h.shift+h.bits)&(1<<h.bits-1))
	}
	r := cutter{rest: p}
	r.cut(int(h.bytes)+stored, 1)
	var count [3]byte
	copy(count[:], r.rest)
	switch first := int(count[0]); {
	case first < 128:
		sequences = first
	case first < 255:
		sequences = (first-128)<<8 + int(count[1])
	default:
		sequences = int(count[1]) + int(count[2])<<8 + 0x7F00
	}
	return literals, sequences
}

// literalHeader says how long the header of a literals section is, and where its first size starts
// and ends.
type literalHeader struct{ bytes, shift, bits uint8 }

// literalHeaders has the forms of the header for uncoded literals, then for Huffman-coded ones. It
// is immutable.
var literalHeaders = [8]literalHeader{
	{1, 3, 5}, {2, 4, 12}, {1, 3, 5}, {3, 4, 20},
	{3, 4, 10}, {3, 4, 10}, {4, 4, 14}, {5, 4, 18},
}
