// Package block is one value block and its key part, and the codecs by number.
//
// A table keeps keys apart from values: up to [MaxEntries] neighbouring entries have their values
// in one value block and their keys in one key part, at the same indexes. A key part is searched in
// place ([Keys]); a value block is used in place, decoded value by value, or decoded as a whole
// ([ParseValues]). docs/format.md has the layout of both.
//
// Parsed parts are immutable and safe for concurrent use, as are a [Decompressor]'s methods; a
// [Builder] and a [Compressor] are not. The package does no I/O, and knows neither where a block is
// nor which blocks are worth keeping.
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
