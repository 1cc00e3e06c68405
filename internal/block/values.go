package block

import (
	"encoding/binary"
	"fmt"
	"math"
)

const valueHeaderBytes = 12

// minSaving is the least part of a block, as a divisor, that compression must save. Less is not
// worth decoding and caching what could be read in place.
const minSaving = 12

// AppendValues appends the value block, and returns its codec.
func (b *Builder) AppendValues(dst []byte) ([]byte, Codec, error) {
	from, codec := len(dst), Raw
	enough := b.ValueBytes() - b.ValueBytes()/minSaving
	dst = append(dst, byte(Raw))
	dst = appendLengths(dst, b.valueEnds)
	start := len(dst)
	switch {
	case b.encoding.Encoder != nil:
		dst = binary.LittleEndian.AppendUint64(dst, b.encoding.Encoder.Dictionary.Number)
		dst = append(appendLengths(dst, b.encodedEnds), b.values...)
		if codec = Pattern; len(dst)-start > enough {
			values, err := b.decoded()
			if err != nil {
				return nil, 0, err
			}
			dst, codec = append(dst[:start], values...), Raw
		}
	case b.encoding.Compressor != nil && !b.looksRandom():
		dst = b.encoding.Compressor.encoder.EncodeAll(b.values, dst)
		if codec = Zstd; len(dst)-start > enough {
			dst, codec = append(dst[:start], b.values...), Raw
		}
	default:
		dst = append(dst, b.values...)
	}
	dst[from] = byte(codec)
	return seal(dst, from), codec, nil
}

// appendLengths appends the header after the codec, and the lengths of the values with the given
// ends.
func appendLengths(dst []byte, ends []uint32) []byte {
	shortest, longest, before := uint32(math.MaxUint32), uint32(0), uint32(0)
	for _, end := range ends {
		shortest, longest = min(shortest, end-before), max(longest, end-before)
		before = end
	}
	width := 4
	switch spread := longest - shortest; {
	case spread == 0:
		width = 0
	case spread <= math.MaxUint8:
		width = 1
	case spread <= math.MaxUint16:
		width = 2
	}
	dst = append(dst, byte(width))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(ends)))
	dst = binary.LittleEndian.AppendUint32(dst, before)
	dst = binary.LittleEndian.AppendUint32(dst, shortest)
	for i := range ends {
		start, end := part(ends, i)
		dst = appendUint(dst, uint64(end-start-shortest), width)
	}
	return dst
}

// Values is a parsed value block.
type Values struct {
	Codec   Codec
	Plain   Column  // the values, unless Codec is Pattern; in new memory if it is Zstd
	Encoded Encoded // the values, if Codec is Pattern
}

// ParseValues verifies the value block p and returns its values. There must be count. They alias p,
// which must not change afterwards, unless they had to be decoded.
func ParseValues(p []byte, count int, d *Decompressor) (v Values, err error) {
	codec, l, r, err := parseHeader(p, count)
	if err != nil {
		return Values{}, err
	}
	if v.Codec = codec; codec == Pattern {
		v.Encoded, err = parseEncoded(&r, l)
		return v, err
	}
	if v.Plain, err = l.column(); err != nil {
		return Values{}, err
	}
	v.Plain.data = r.rest
	if codec == Zstd {
		if v.Plain.data, err = d.decode(r.rest, l.size); err != nil {
			return Values{}, err
		}
	}
	if len(v.Plain.data) != l.size {
		return Values{}, fmt.Errorf("values have %d bytes, want %d", len(v.Plain.data), l.size)
	}
	return v, nil
}

// CountValues returns how many values the value block p claims to have. It verifies nothing.
func CountValues(p []byte) int {
	if len(p) < valueHeaderBytes {
		return 0
	}
	return int(binary.LittleEndian.Uint16(p[2:]))
}

// parseHeader verifies the value block p of count values and returns its codec, their lengths, and
// what follows.
func parseHeader(p []byte, count int) (codec Codec, l lengths, r cutter, err error) {
	if p, err = verify(p); err != nil {
		return 0, lengths{}, cutter{}, err
	}
	if len(p) < valueHeaderBytes {
		return 0, lengths{}, cutter{}, errShort
	}
	if codec = Codec(p[0]); codec > Pattern {
		return 0, lengths{}, cutter{}, fmt.Errorf("value block header is % x", p[:valueHeaderBytes])
	}
	r = cutter{rest: p[1:]}
	l, err = parseLengths(&r, count)
	return codec, l, r, err
}

// lengths is the lengths of byte strings that lie in one buffer, one after the other.
type lengths struct {
	count, width int
	size         int // of the buffer
	shortest     uint32
	p            []byte // count × width: each length, minus shortest
}

// parseLengths parses the header after the codec, and the lengths. There must be count of them.
func parseLengths(r *cutter, count int) (lengths, error) {
	h := r.cut(valueHeaderBytes-1, 1)
	if r.short {
		return lengths{}, errShort
	}
	size := binary.LittleEndian.Uint32(h[3:])
	l := lengths{
		count: count, width: int(h[0]), size: int(size), shortest: binary.LittleEndian.Uint32(h[7:]),
	}
	widthOK := l.width <= 2 || l.width == 4
	if !widthOK || int(binary.LittleEndian.Uint16(h[1:])) != count || size > math.MaxInt32 {
		return lengths{}, fmt.Errorf("value block header is % x", h)
	}
	if l.p = r.cut(l.width, count); r.short {
		return lengths{}, errShort
	}
	return l, nil
}

func (l *lengths) at(i int) uint64 {
	switch l.width {
	case 0:
		return uint64(l.shortest)
	case 1:
		return uint64(l.shortest) + uint64(l.p[i])
	case 2:
		return uint64(l.shortest) + uint64(binary.LittleEndian.Uint16(l.p[2*i:]))
	}
	return uint64(l.shortest) + uint64(binary.LittleEndian.Uint32(l.p[4*i:]))
}

func (l *lengths) longest() int {
	most := uint64(0)
	for i := range l.count {
		most = max(most, l.at(i))
	}
	return int(most)
}

// column returns a column with the strings' positions, and no data yet.
func (l *lengths) column() (Column, error) {
	if l.width == 0 {
		if uint64(l.count)*uint64(l.shortest) != uint64(l.size) {
			return Column{}, fmt.Errorf("%d values of %d bytes in %d", l.count, l.shortest, l.size)
		}
		return Column{size: int(l.shortest)}, nil
	}
	ends := make([]uint32, l.count+1)
	end := uint64(0)
	for i := range l.count {
		end += l.at(i)
		ends[i+1] = uint32(end)
	}
	if end != uint64(l.size) { // sums only grow, so no earlier end has overflowed
		return Column{}, fmt.Errorf("values end at %d of %d", end, l.size)
	}
	return Column{ends: ends}, nil
}
