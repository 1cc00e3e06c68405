package keyspace

import (
	"encoding/binary"
	"math/bits"
)

// Head returns the first 8 bytes of p as an integer that orders like them, padded with zeros: what
// compares most keys without looking at them. Equal heads say nothing.
//
// The loads of a short p overlap. Copying it into 8 bytes to load these would wait for the stores.
func Head(p []byte) uint64 {
	switch n := len(p); {
	case n >= 8:
		return binary.BigEndian.Uint64(p)
	case n >= 4:
		first, last := binary.BigEndian.Uint32(p), binary.BigEndian.Uint32(p[n-4:])
		return uint64(first)<<32 | uint64(last)<<(64-8*n)
	case n > 0:
		mid, last := n/2, n-1
		return uint64(p[0])<<56 | uint64(p[mid])<<(56-8*mid) | uint64(p[last])<<(56-8*last)
	}
	return 0
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
