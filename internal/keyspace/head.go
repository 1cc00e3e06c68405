package keyspace

import (
	"encoding/binary"
	"math/bits"
)

// Head returns the first 8 bytes of p as an integer that orders like them, padded with zeros: what
// compares most keys without looking at them. Equal heads say nothing.
func Head(p []byte) uint64 {
	if len(p) >= 8 {
		return binary.BigEndian.Uint64(p)
	}
	var padded [8]byte
	copy(padded[:], p)
	return binary.BigEndian.Uint64(padded[:])
}

// Shared returns how many leading bytes a and b have in common.
func Shared(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.BigEndian.Uint64(a[i:]) ^ binary.BigEndian.Uint64(b[i:]); x != 0 {
			return i + bits.LeadingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
