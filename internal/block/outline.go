package block

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
)

// Outline is where the values of a block lie that are stored as they are. Immutable.
type Outline struct {
	values Column // without its buffer
	size   int    // of all values
	start  int    // of the first value in the value block
}

// OutlineBytes returns how many bytes at the start of a value block of count values are enough for
// [ParseOutline].
func OutlineBytes(count int) int { return valueHeaderBytes + 4*count }

// ParseOutline returns the outline of a value block of so many bytes that starts with p and has
// count values. ok is false if they must be decoded. It verifies no checksum: p must be verified.
func ParseOutline(p []byte, bytes, count int) (o Outline, ok bool, err error) {
	if len(p) < valueHeaderBytes {
		return Outline{}, false, errShort
	}
	if codec := Codec(p[0]); codec != Raw {
		return Outline{}, false, nil
	}
	r := cutter{rest: p[1:]}
	l, err := parseLengths(&r, count)
	if err != nil {
		return Outline{}, false, err
	}
	o.size, o.start = l.size, len(p)-len(r.rest)
	if all := o.start + o.size + checksum.Size; all != bytes {
		return Outline{}, false, fmt.Errorf("a value block has %d bytes, want %d", bytes, all)
	}
	o.values, err = l.column()
	return o, err == nil, err
}

// Place returns where n values lie in the value block, from value first on.
func (o *Outline) Place(first, n int) (from, to int) {
	if o.values.ends == nil {
		return o.start + first*o.values.size, o.start + (first+n)*o.values.size
	}
	return o.start + int(o.values.ends[first]), o.start + int(o.values.ends[first+n])
}

// Part returns n values, from value first on; p is what lies at their place.
func (o *Outline) Part(p []byte, first, n int) Column {
	if o.values.ends == nil || n == 1 {
		return Column{data: p, size: len(p) / n}
	}
	part := Column{data: p, ends: make([]uint32, n+1)}
	for i := range part.ends {
		part.ends[i] = o.values.ends[first+i] - o.values.ends[first]
	}
	return part
}

// ValueBytes returns the size of all values.
func (o *Outline) ValueBytes() int { return o.size }

// IndexBytes returns the memory that o takes besides itself.
func (o *Outline) IndexBytes() int { return o.values.IndexBytes() }
