package valuelog

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoatdb/stoat/internal/checksum"
)

// PointerBytes is the length of an encoded [Pointer].
const PointerBytes = 24

// maxValueBytes is the longest value that a database takes. It is repeated here, so that a length
// that cannot be is noticed where it is parsed, and so that it is an int on every platform.
const maxValueBytes = 1 << 30

// Pointer says where a value lies and how to tell that it is the right one.
type Pointer struct {
	File     uint64 // the number of the log segment or value file
	Offset   uint64 // of the value's first byte in the file
	Length   uint32 // of the value
	Checksum uint32 // of the value, CRC-32C
}

// NewPointer returns the pointer to a value that lies at offset in the file of that number.
func NewPointer(file, offset uint64, value []byte) Pointer {
	return Pointer{file, offset, uint32(len(value)), checksum.Of(value)}
}

// Append appends the pointer to dst, in [PointerBytes] bytes: file u64, offset u64, length u32,
// checksum u32, little-endian.
func (p Pointer) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, p.File)
	dst = binary.LittleEndian.AppendUint64(dst, p.Offset)
	dst = binary.LittleEndian.AppendUint32(dst, p.Length)
	return binary.LittleEndian.AppendUint32(dst, p.Checksum)
}

// ParsePointer parses what Append appended. What it returns may point anywhere, but is no longer
// than a value can be, and its end is an int64.
func ParsePointer(p []byte) (Pointer, error) {
	if len(p) != PointerBytes {
		return Pointer{}, fmt.Errorf("pointer has %d bytes, want %d", len(p), PointerBytes)
	}
	q := Pointer{
		File:     binary.LittleEndian.Uint64(p),
		Offset:   binary.LittleEndian.Uint64(p[8:]),
		Length:   binary.LittleEndian.Uint32(p[16:]),
		Checksum: binary.LittleEndian.Uint32(p[20:]),
	}
	if q.Length > maxValueBytes || q.Offset > math.MaxInt64-uint64(q.Length) {
		return Pointer{}, fmt.Errorf("pointer to %d bytes at offset %d", q.Length, q.Offset)
	}
	return q, nil
}
