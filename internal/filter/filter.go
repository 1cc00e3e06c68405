// Package filter says which keys a table certainly does not have.
//
// A [Filter] is a binary fuse filter with 8-bit fingerprints of key hashes: it takes 9 bits per
// key, and one absent key in 256 passes. Its serialised form, which docs/format.md has, is searched
// in place. It has no checksum: it is a section of a table, which has one.
//
// Filters are immutable and safe for concurrent use. The package does not choose which tables have
// a filter and does not keep the keys.
package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/FastFilter/xorfilter"
)

const (
	kindFuse8      = 1
	headerBytes    = 16
	maxSegmentBits = 18
	maxCells       = 1 << 31 // fingerprints are numbered by uint32
)

// Filter is a set of hashes that is certain only about what is absent. It refers to the bytes that
// it was parsed from.
type Filter struct {
	fingerprints []byte
	seed         uint64
	starts       uint64 // cells that the first of the three may lie in
	segment      uint32 // cells in a segment, a power of two
}

// Append appends the serialised filter of at least one hash. Equal hashes do no harm. It may
// reorder the hashes.
func Append(dst []byte, hashes []uint64) ([]byte, error) {
	if len(hashes) == 0 || len(hashes) > maxCells/2 {
		return nil, fmt.Errorf("build filter: %d keys", len(hashes))
	}
	fuse, err := xorfilter.NewBinaryFuse[uint8](hashes)
	if err != nil {
		return nil, fmt.Errorf("build filter: %w", err)
	}
	segmentBits := bits.TrailingZeros32(fuse.SegmentLength)
	dst = append(dst, kindFuse8, byte(segmentBits), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, fuse.SegmentCount)
	dst = binary.LittleEndian.AppendUint64(dst, fuse.Seed)
	return append(dst, fuse.Fingerprints...), nil
}

// Parse returns the filter that is serialised in p, which must not change afterwards.
func Parse(p []byte) (Filter, error) {
	if len(p) < headerBytes {
		return Filter{}, errors.New("filter is too short")
	}
	kind, segmentBits := p[0], p[1]
	if kind != kindFuse8 || segmentBits > maxSegmentBits || p[2]|p[3] != 0 {
		return Filter{}, fmt.Errorf("filter header is % x", p[:4])
	}
	segments := uint64(binary.LittleEndian.Uint32(p[4:]))
	cells := (segments + 2) << segmentBits
	if segments == 0 || cells > maxCells || cells != uint64(len(p)-headerBytes) {
		return Filter{}, fmt.Errorf("filter of %d segments has %d bytes", segments, len(p))
	}
	return Filter{
		fingerprints: p[headerBytes:],
		seed:         binary.LittleEndian.Uint64(p[8:]),
		starts:       segments << segmentBits,
		segment:      1 << segmentBits,
	}, nil
}

// Contains reports whether a key with the given [Hash] may be in the set. False is certain.
func (f *Filter) Contains(hash uint64) bool {
	h := mix(hash + f.seed)
	start, _ := bits.Mul64(h, f.starts)
	a := uint32(start)
	b := (a + f.segment) ^ uint32(h>>18)&(f.segment-1)
	c := (a + 2*f.segment) ^ uint32(h)&(f.segment-1)
	cells := f.fingerprints
	return byte(h^h>>32) == cells[a]^cells[b]^cells[c]
}

// mix is the finaliser of MurmurHash3, which the construction uses.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
