// Package block is one value block and its key part, and the codecs by number.
//
// A table keeps keys apart from values: up to [MaxEntries] neighbouring entries have their values
// in one value block and their keys in one key part, at the same indexes. A key part is searched in
// place ([Keys]); a value block is used in place, decoded value by value, or decoded as a whole
// ([ParseValues]).
//
// A key part, with all integers little-endian, is
//
//	form              u8   1: keys of one length, 2: keys of different lengths
//	width             u8   bytes of a head (form 1: 0 to 8) or of an end (form 2: 2 or 4)
//	flags             u8   1: kinds follow, 2: expiries follow; other bits are 0
//	reserved          u8   0
//	count             u32
//	prefix length     u32
//	suffix length     u32  0 in form 2
//	middle length     u32  of each middle (form 1), of all together (form 2)
//	columns           see below
//	prefix, suffix
//	kinds             count × u8, as in package keyspace; without them every entry is a put
//	expiries          count × u64: milliseconds since 1970, or 0 for an entry that stays
//	checksum          u32  CRC-32C of everything before
//
// where a key is prefix + middle + suffix. The columns of form 1 split a middle into a head, its
// first 8 bytes at most, and the rest:
//
//	heads             count × width: the head as a big-endian integer, minus base. Width 0 stands
//	                  for 0, 1, 2, …: keys that count up take no space
//	base              u64, the first head
//	rests             count × (middle length − 8), if that is positive
//
// and those of form 2 are
//
//	heads             count × u32: the first 4 bytes of a middle as a big-endian integer, padded
//	                  with zeros
//	ends              count × width: where each middle ends in the following
//	middles
//
// A value block is
//
//	codec             u8   0: raw, 1: zstd, 2: pattern
//	width             u8   bytes of a length: 0, 1, 2 or 4
//	count             u16
//	size              u32  of all values, decoded
//	shortest          u32  the length of the shortest value
//	lengths           count × width: the length of each value, minus shortest
//	values            one after the other, as the codec stores them
//	checksum          u32  CRC-32C of everything before
//
// where the codec pattern stores the values as
//
//	dictionary        u64  its number, not 0
//	width … lengths        as above, of the encoded values
//	encoded values    one after the other; those of pointers and tombstones are not encoded
//
// A tombstone has an empty value, and the value of a pointer entry is the pointer. Parsed parts are
// immutable and safe for concurrent use, as are a [Decompressor]'s methods; a [Builder] and a
// [Compressor] are not. The package does no I/O, and knows neither where a block is nor which
// blocks are worth keeping.
package block

import (
	"encoding/binary"
	"errors"

	"github.com/stoatdb/stoat/internal/checksum"
)

// MaxEntries is the largest number of entries in a block.
const MaxEntries = 512

var (
	errShort    = errors.New("too short")
	errChecksum = errors.New("checksum does not match")
)

// verify returns what precedes the checksum at the end of p.
func verify(p []byte) ([]byte, error) {
	n := len(p) - checksum.Size
	if n < 0 {
		return nil, errShort
	}
	if checksum.Of(p[:n]) != binary.LittleEndian.Uint32(p[n:]) {
		return nil, errChecksum
	}
	return p[:n:n], nil
}

// seal appends the checksum of dst[from:].
func seal(dst []byte, from int) []byte {
	return binary.LittleEndian.AppendUint32(dst, checksum.Of(dst[from:]))
}

// appendUint appends the low width bytes of x.
func appendUint(dst []byte, x uint64, width int) []byte {
	for range width {
		dst = append(dst, byte(x))
		x >>= 8
	}
	return dst
}
