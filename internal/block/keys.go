package block

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoatdb/stoat/internal/keyspace"
)

const (
	formFixed    = 1
	formVariable = 2

	flagKinds    = 1
	flagExpiries = 2
	knownFlags   = flagKinds | flagExpiries

	expiryBytes = 8

	keyHeaderBytes    = 20
	headBytesMax      = 8 // of a middle in form 1
	variableHeadBytes = 4 // of a middle in form 2
)

// Keys is a key part, ready to be searched in place. It refers to the bytes it was parsed from. It
// is immutable and safe for concurrent use.
type Keys struct {
	prefix, suffix []byte
	count          int
	variable       bool

	heads     []byte  // and at least 8 bytes from the last head on
	width     int     // bytes of a head
	mask      uint64  // the low width bytes
	base      uint64  // form 1: the first head, which the others are stored without
	least     uint64  // the first head as it is stored
	slope     float64 // a stored head, minus least, times slope is about its index; or 0
	headBytes int     // bytes of a middle in its head
	restBytes int     // the other bytes of a middle
	rest      []byte  // form 1: the rests; form 2: the middles
	ends      []byte  // form 2
	endWidth  int     // bytes of an end

	kinds    []byte // of each entry; nil if all are puts
	expiries []byte // of each entry; nil if none expires
	plain    bool   // see Plain
}

// keyHeader is the header of a key part.
type keyHeader struct {
	form, width, flags            int
	count, prefix, suffix, middle int
}

func (h keyHeader) append(dst []byte) []byte {
	dst = append(dst, byte(h.form), byte(h.width), byte(h.flags), 0)
	for _, n := range [...]int{h.count, h.prefix, h.suffix, h.middle} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return dst
}

// ParseKeys verifies the key part p, which must not change afterwards.
func ParseKeys(p []byte) (Keys, error) {
	p, err := verify(p)
	if err != nil {
		return Keys{}, err
	}
	if len(p) < keyHeaderBytes {
		return Keys{}, errShort
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint32(p[at:])) }
	h := keyHeader{
		form: int(p[0]), width: int(p[1]), flags: int(p[2]),
		count: number(4), prefix: number(8), suffix: number(12), middle: number(16),
	}
	negative := h.prefix|h.suffix|h.middle < 0 // beyond what 32-bit platforms can address
	if p[3] != 0 || h.flags&^knownFlags != 0 || h.count < 1 || h.count > MaxEntries || negative {
		return Keys{}, fmt.Errorf("key part header is % x", p[:keyHeaderBytes])
	}
	k := Keys{count: h.count}
	r := &cutter{rest: p[keyHeaderBytes:]}
	switch {
	case h.form == formFixed && h.width <= headBytesMax:
		err = k.parseFixed(r, h)
	case h.form == formVariable && (h.width == 2 || h.width == 4) && h.suffix == 0:
		err = k.parseVariable(r, h)
	default:
		err = fmt.Errorf("key part header is % x", p[:keyHeaderBytes])
	}
	if err != nil {
		return Keys{}, err
	}
	k.prefix, k.suffix = r.cut(h.prefix, 1), r.cut(h.suffix, 1)
	if err := k.parseKinds(r, h.flags); err != nil {
		return Keys{}, err
	}
	if r.short || len(r.rest) > 0 {
		return Keys{}, fmt.Errorf("key part of %d bytes does not hold what its header says", len(p))
	}
	return k, k.checkLengths()
}

// checkLengths returns an error if a key is longer than keys can be. With a long prefix, expanded
// keys would take far more memory than the key part.
func (k *Keys) checkLengths() error {
	longest := k.headBytes + k.restBytes
	if k.variable {
		longest = 0
		for i := range k.count {
			longest = max(longest, len(k.middle(i)))
		}
	}
	if n := len(k.prefix) + longest + len(k.suffix); n > keyspace.MaxInternalKeyBytes {
		return fmt.Errorf("a key has %d bytes", n)
	}
	return nil
}

func (k *Keys) parseKinds(r *cutter, flags int) error {
	k.plain = flags&flagExpiries == 0
	if flags&flagKinds != 0 {
		k.kinds = r.cut(1, k.count)
	}
	for _, b := range k.kinds {
		switch keyspace.Kind(b) {
		case keyspace.KindPut, keyspace.KindDelete:
		case keyspace.KindPointer:
			k.plain = false
		default:
			return fmt.Errorf("entry of kind %d", b)
		}
	}
	if flags&flagExpiries != 0 {
		k.expiries = r.cut(expiryBytes, k.count)
	}
	return nil
}

func (k *Keys) parseFixed(r *cutter, h keyHeader) error {
	k.headBytes = min(h.middle, headBytesMax)
	k.restBytes = h.middle - k.headBytes
	k.width, k.mask = h.width, 1<<(8*h.width)-1
	k.heads = r.cut(h.count*h.width+8, 1)
	k.rest = r.cut(k.restBytes, h.count)
	if r.short {
		return errShort
	}
	k.base = binary.LittleEndian.Uint64(k.heads[h.count*h.width:])
	most := uint64(1)<<(8*k.headBytes) - 1 // all ones for 8 bytes
	last := k.delta(h.count - 1)
	if k.base > most || last > most-k.base {
		return fmt.Errorf("heads go beyond %d bytes", k.headBytes)
	}
	if h.count > 2*guessed {
		k.slope = float64(h.count) / (float64(last) + 1)
	}
	return nil
}

func (k *Keys) parseVariable(r *cutter, h keyHeader) error {
	k.variable, k.headBytes, k.endWidth = true, variableHeadBytes, h.width
	k.width, k.mask = variableHeadBytes, math.MaxUint32
	heads := r.rest
	r.cut(variableHeadBytes, h.count)
	k.ends = r.cut(h.width, h.count)
	k.rest = r.cut(h.middle, 1)
	if r.short {
		return errShort
	}
	if k.heads = heads; len(heads) < variableHeadBytes*(h.count-1)+8 {
		return errShort
	}
	before := 0
	for i := range h.count {
		end := k.end(i)
		if end < before || end > h.middle {
			return fmt.Errorf("key %d ends at %d of %d", i, end, h.middle)
		}
		before = end
	}
	if before != h.middle {
		return fmt.Errorf("keys end at %d of %d", before, h.middle)
	}
	k.measureSpread()
	return nil
}

// cutter takes pieces off the front of a buffer and remembers if it ran short.
type cutter struct {
	rest  []byte
	short bool
}

// cut returns the next n pieces of size bytes each. Both are below 1<<33.
func (c *cutter) cut(size, n int) []byte {
	if c.short || n > 0 && size > len(c.rest)/n {
		c.short = true
		return nil
	}
	p := c.rest[: n*size : n*size]
	c.rest = c.rest[n*size:]
	return p
}

// Len returns the number of keys.
func (k *Keys) Len() int { return k.count }

// Kind returns the kind of entry i.
func (k *Keys) Kind(i int) keyspace.Kind { return KindAt(k.kinds, i) }

// Until returns when entry i expires, in milliseconds since 1970, or 0 if it does not.
func (k *Keys) Until(i int) uint64 {
	if k.expiries == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(k.expiries[i*expiryBytes:])
}

// Plain reports whether every entry is a tombstone or a put that has its value, and none expires.
func (k *Keys) Plain() bool { return k.plain }

// Puts reports whether every entry is a put that has its value and does not expire.
func (k *Keys) Puts() bool { return k.kinds == nil && k.expiries == nil }

// Kinds returns the kinds for [KindAt].
func (k *Keys) Kinds() []byte { return k.kinds }

// KindAt returns the kind of entry i. kinds are those of all entries, or nil if all are puts.
func KindAt(kinds []byte, i int) keyspace.Kind {
	if kinds == nil {
		return keyspace.KindPut
	}
	return keyspace.Kind(kinds[i])
}

// delta returns head i as it is stored: in form 1, minus base.
func (k *Keys) delta(i int) uint64 {
	if k.width == 0 {
		return uint64(i)
	}
	return binary.LittleEndian.Uint64(k.heads[i*k.width:]) & k.mask
}

// end returns where middle i of form 2 ends.
func (k *Keys) end(i int) int {
	if k.endWidth == 2 {
		return int(binary.LittleEndian.Uint16(k.ends[2*i:]))
	}
	return int(binary.LittleEndian.Uint32(k.ends[4*i:]))
}

// start returns where middle i of form 2 starts.
func (k *Keys) start(i int) int {
	if i == 0 {
		return 0
	}
	return k.end(i - 1)
}

func (k *Keys) middle(i int) []byte { return k.rest[k.start(i):k.end(i)] }

// Bytes returns the length of all keys together.
func (k *Keys) Bytes() int {
	if k.variable {
		return k.count*len(k.prefix) + len(k.rest)
	}
	return k.count * k.fixedBytes()
}

// Append appends key i.
func (k *Keys) Append(dst []byte, i int) []byte {
	dst = append(dst, k.prefix...)
	if k.variable {
		return append(dst, k.middle(i)...)
	}
	head := (k.base + k.delta(i)) << (64 - 8*uint(k.headBytes))
	for range k.headBytes {
		dst = append(dst, byte(head>>56))
		head <<= 8
	}
	if k.restBytes > 0 {
		dst = append(dst, k.restAt(i)...)
	}
	return append(dst, k.suffix...)
}

// Expand returns all keys in full, in new memory.
func (k *Keys) Expand() Column {
	data := make([]byte, 0, k.Bytes())
	if k.variable {
		return k.expandVariable(data, make([]uint32, k.count+1), 0)
	}
	return k.expandFixed(data, 0, k.count)
}

// fixedBytes returns the length of each key of form 1.
func (k *Keys) fixedBytes() int {
	return len(k.prefix) + k.headBytes + k.restBytes + len(k.suffix)
}

// expandFixed puts n keys of form 1, from key first on, into data, which is empty and has room. All
// are filled with prefix and suffix first, copied in doubling steps; then come the middles.
func (k *Keys) expandFixed(data []byte, first, n int) Column {
	size := k.fixedBytes()
	data = data[:n*size]
	copy(data, k.prefix)
	copy(data[size-len(k.suffix):], k.suffix)
	for done := size; done < len(data); done *= 2 {
		copy(data[done:], data[:done])
	}
	for i := range n {
		middle := data[i*size+len(k.prefix):][:k.headBytes+k.restBytes]
		head := (k.base + k.delta(first+i)) << (64 - 8*uint(k.headBytes))
		for j := range k.headBytes {
			middle[j] = byte(head >> 56)
			head <<= 8
		}
		if k.restBytes > 0 {
			copy(middle[k.headBytes:], k.restAt(first+i))
		}
	}
	return Column{data: data, size: size}
}

// expandVariable is expandFixed for as many keys of form 2 as there are ends, less the first end.
func (k *Keys) expandVariable(data []byte, ends []uint32, first int) Column {
	for i := range ends[1:] {
		data = append(append(data, k.prefix...), k.middle(first+i)...)
		ends[i+1] = uint32(len(data))
	}
	return Column{data: data, ends: ends}
}
