package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// tiesMax is how many neighbouring blocks may have the same fence, so that only their key parts
// tell them apart, before they get a span of their own.
const tiesMax = 4

// index says which block a key belongs to and where the blocks lie. It is immutable.
type index struct {
	fences []uint64 // of each block, its first key's 8 bytes after its span's prefix
	places []place  // of each block, and where the last block ends
	sums   []sums   // of each block
	spans  []Span
	properties
}

// place says where the two parts of a block start in the file.
type place struct {
	values, keys uint64
}

// sums are the checksums that the two parts of a block end with. They tell where a block belongs;
// the block itself cannot, because blocks are copied from table to table.
type sums struct {
	values, keys uint32
}

// Span is a sequence of blocks whose first keys share a prefix.
type Span struct {
	First  int    // its first block
	Key    []byte // that block's first key
	Prefix int    // bytes of Key that are the prefix
}

// newSpans appends the spans and fences of the blocks from block at on, which have the given first
// keys. It splits a span with many equal fences around the blocks that share one more byte with
// them, until the 8 bytes after the prefix tell blocks apart.
func newSpans(spans []Span, fences []uint64, firsts [][]byte, at int) ([]Span, []uint64) {
	if len(firsts) == 0 {
		return spans, fences
	}
	s := Span{First: at, Key: firsts[0], Prefix: keyspace.Shared(firsts[0], firsts[len(firsts)-1])}
	heads := make([]uint64, len(firsts))
	ties, last, from := 0, 0, 0 // the longest sequence of equal heads and where it ends
	for i, first := range firsts {
		heads[i] = keyspace.Head(first[s.Prefix:])
		if heads[i] != heads[from] {
			from = i
		}
		if i-from > ties {
			ties, last = i-from, i
		}
	}
	if ties < tiesMax {
		return append(spans, s), append(fences, heads...)
	}
	next := firsts[last][:s.Prefix+1] // of equal heads, the last key is longer than the prefix
	start, end := last, last+1
	for start > 0 && bytes.HasPrefix(firsts[start-1], next) {
		start--
	}
	for end < len(firsts) && bytes.HasPrefix(firsts[end], next) {
		end++
	}
	spans, fences = newSpans(spans, fences, firsts[:start], at)
	spans, fences = newSpans(spans, fences, firsts[start:end], at+start)
	return newSpans(spans, fences, firsts[end:], at+end)
}

func (x *index) append(dst []byte) []byte {
	for _, fence := range x.fences {
		dst = binary.LittleEndian.AppendUint64(dst, fence)
	}
	for i, p := range x.places[:len(x.fences)] {
		next := x.places[i+1]
		dst = binary.LittleEndian.AppendUint32(dst, uint32(next.values-p.values))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(next.keys-p.keys))
		dst = binary.LittleEndian.AppendUint32(dst, x.sums[i].values)
		dst = binary.LittleEndian.AppendUint32(dst, x.sums[i].keys)
	}
	for _, s := range x.spans {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(s.First))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Prefix))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.Key)))
	}
	for _, s := range x.spans {
		dst = append(dst, s.Key...)
	}
	return x.properties.append(dst)
}

// parseIndex parses the index p of the file with footer f. It keeps nothing of p.
func parseIndex(p []byte, f footer) (*index, error) {
	n, m := int(f.blocks), int(f.spans)
	x := &index{
		fences: make([]uint64, n),
		places: make([]place, n+1),
		sums:   make([]sums, n),
		spans:  make([]Span, m),
	}
	for i := range x.fences {
		x.fences[i] = binary.LittleEndian.Uint64(p[i*fenceBytes:])
	}
	p = p[n*fenceBytes:]
	at := place{values: fileheader.Size, keys: f.keys}
	x.places[0] = at
	for i := range n {
		q := p[i*placeBytes:][:placeBytes]
		at.values += uint64(binary.LittleEndian.Uint32(q))
		at.keys += uint64(binary.LittleEndian.Uint32(q[4:]))
		x.places[i+1] = at
		x.sums[i] = sums{
			values: binary.LittleEndian.Uint32(q[8:]), keys: binary.LittleEndian.Uint32(q[12:]),
		}
	}
	if at != (place{values: f.keys, keys: f.filter}) {
		return nil, errors.New("blocks do not fill their sections")
	}
	rest, err := x.parseSpans(p[n*placeBytes:])
	if err != nil {
		return nil, err
	}
	x.properties, err = parseProperties(rest)
	return x, err
}

func (x *index) parseSpans(p []byte) (rest []byte, err error) {
	keys := bytes.Clone(p[len(x.spans)*spanBytes:])
	taken := 0
	for i := range x.spans {
		u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(p[i*spanBytes+at:]) }
		first, prefix, length := u32(0), u32(4), u32(8)
		inOrder := i == 0 && first == 0 || i > 0 && int64(first) > int64(x.spans[i-1].First)
		if !inOrder || int64(first) >= int64(len(x.fences)) || prefix > length ||
			int64(length) > int64(len(keys)-taken) {
			return nil, fmt.Errorf("span %d is % x", i, p[i*spanBytes:][:spanBytes])
		}
		key := keys[taken : taken+int(length) : taken+int(length)]
		x.spans[i] = Span{First: int(first), Key: key, Prefix: int(prefix)}
		taken += int(length)
	}
	return keys[taken:], nil
}

// search returns the last block whose first key is not above key, as far as fences can tell: that
// block, or a later one with the same fence. It returns −1 if key is below all keys.
func (x *index) search(key []byte) int {
	i := x.spanOf(key)
	if i < 0 {
		return -1
	}
	s := &x.spans[i]
	end := len(x.fences)
	if i+1 < len(x.spans) {
		end = x.spans[i+1].First
	}
	if len(key) < s.Prefix || string(key[:s.Prefix]) != string(s.Key[:s.Prefix]) {
		return end - 1 // not below s.Key, so above all keys with the prefix
	}
	return s.First + searchFences(x.fences[s.First:end], keyspace.Head(key[s.Prefix:]))
}

// searchFences returns the index of the last fence that is not above h, or 0. It compares h with
// three fences at a time, whose loads overlap, and has no branch that depends on them: it would be
// mispredicted every other time.
func searchFences(fences []uint64, h uint64) int {
	at, n := 0, len(fences)
	for ; n > 3; n -= 3 * (n / 4) {
		quarter := n / 4
		f := fences[at : at+3*quarter+1]
		_, first := bits.Sub64(h, f[quarter], 0)
		_, second := bits.Sub64(h, f[2*quarter], 0)
		_, third := bits.Sub64(h, f[3*quarter], 0)
		at += quarter * (3 - int(first+second+third))
	}
	for _, f := range fences[at : at+n][1:] {
		_, below := bits.Sub64(h, f, 0)
		at += 1 - int(below)
	}
	return at
}

// spanOf returns the last span that does not start above key, or −1.
func (x *index) spanOf(key []byte) int {
	i, end := 0, len(x.spans)
	for i < end {
		mid := int(uint(i+end) / 2)
		if bytes.Compare(x.spans[mid].Key, key) <= 0 {
			i = mid + 1
		} else {
			end = mid
		}
	}
	return i - 1
}
