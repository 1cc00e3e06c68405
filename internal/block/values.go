package block

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Codecs of value blocks. The numbers are stored on disk and never reused; 2 is kept for a codec
// that can decode one value alone.
const (
	codecRaw  = 0
	codecZstd = 1
)

const valueHeaderBytes = 12

// minSaving is the least part of a block, as a divisor, that compression must save: less is not
// worth decoding and caching what could be read in place.
const minSaving = 12

// AppendValues appends the value block. With a compressor it is compressed, if that saves enough.
func (b *Builder) AppendValues(dst []byte, c *Compressor) (block []byte, compressed bool) {
	from := len(dst)
	dst = append(dst, codecRaw)
	dst = b.appendLengths(dst)
	start := len(dst)
	if c != nil && !b.looksRandom() {
		dst = c.append(dst, b.values)
		compressed = len(dst)-start <= len(b.values)-len(b.values)/minSaving
	}
	if compressed {
		dst[from] = codecZstd
	} else {
		dst = append(dst[:start], b.values...)
	}
	return seal(dst, from), compressed
}

// appendLengths appends the header behind the codec, and the lengths.
func (b *Builder) appendLengths(dst []byte) []byte {
	shortest, longest, before := uint32(math.MaxUint32), uint32(0), uint32(0)
	for _, end := range b.valueEnds {
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
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(b.valueEnds)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b.values)))
	dst = binary.LittleEndian.AppendUint32(dst, shortest)
	before = 0
	for _, end := range b.valueEnds {
		dst = appendUint(dst, uint64(end-before-shortest), width)
		before = end
	}
	return dst
}

// valueHeader is the head of a value block.
type valueHeader struct {
	codec, width, count int
	size, shortest      uint32
}

// ParseValues verifies the value block p and returns its values, of which there must be count. They
// alias p, which must not change afterwards, unless decoded is true: then they are in new memory.
func ParseValues(p []byte, count int, d *Decompressor) (values Column, decoded bool, err error) {
	h, lengths, data, err := parseValueHeader(p, count)
	if err != nil {
		return Column{}, false, err
	}
	if values, err = h.index(lengths); err != nil {
		return Column{}, false, err
	}
	values.data = data
	if h.codec == codecZstd {
		if values.data, err = d.decode(data, int(h.size)); err != nil {
			return Column{}, false, err
		}
	}
	if len(values.data) != int(h.size) {
		return Column{}, false, fmt.Errorf("values have %d bytes, want %d", len(values.data), h.size)
	}
	return values, h.codec == codecZstd, nil
}

// parseValueHeader verifies the value block p of count values and returns its header, the lengths,
// and the values as the codec has them.
func parseValueHeader(p []byte, count int) (h valueHeader, lengths, data []byte, err error) {
	if p, err = verify(p); err != nil {
		return valueHeader{}, nil, nil, err
	}
	if len(p) < valueHeaderBytes {
		return valueHeader{}, nil, nil, errShort
	}
	h = valueHeader{
		codec:    int(p[0]),
		width:    int(p[1]),
		count:    int(binary.LittleEndian.Uint16(p[2:])),
		size:     binary.LittleEndian.Uint32(p[4:]),
		shortest: binary.LittleEndian.Uint32(p[8:]),
	}
	widthOK := h.width <= 2 || h.width == 4
	if h.codec > codecZstd || !widthOK || h.count != count || h.size > math.MaxInt32 {
		err := fmt.Errorf("value block header is % x", p[:valueHeaderBytes])
		return valueHeader{}, nil, nil, err
	}
	r := cutter{rest: p[valueHeaderBytes:]}
	lengths = r.cut(h.width, h.count)
	if r.short {
		return valueHeader{}, nil, nil, errShort
	}
	return h, lengths, r.rest, nil
}

// index returns a column that knows where each value lies, but has no data yet.
func (h valueHeader) index(lengths []byte) (Column, error) {
	if h.width == 0 {
		if uint64(h.count)*uint64(h.shortest) != uint64(h.size) {
			return Column{}, fmt.Errorf("%d values of %d bytes in %d", h.count, h.shortest, h.size)
		}
		return Column{size: int(h.shortest)}, nil
	}
	ends := make([]uint32, h.count+1)
	end := uint64(0)
	for i := range h.count {
		end += uint64(h.shortest)
		switch h.width {
		case 1:
			end += uint64(lengths[i])
		case 2:
			end += uint64(binary.LittleEndian.Uint16(lengths[2*i:]))
		default:
			end += uint64(binary.LittleEndian.Uint32(lengths[4*i:]))
		}
		ends[i+1] = uint32(end)
	}
	if end != uint64(h.size) { // as sums only grow, no end before has overflowed either
		return Column{}, fmt.Errorf("values end at %d of %d", end, h.size)
	}
	return Column{ends: ends}, nil
}
