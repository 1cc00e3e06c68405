// Package wire reads and appends the primitives that every format of package replica is made of:
// uvarints in their shortest form, big-endian numbers, and bytes after their length.
//
// A [Reader] keeps its first error, so a decoder may read a whole structure and look at the error
// once. It never reads past its bytes, returns parts of them instead of copies, and allocates
// nothing: a count must be checked with [Reader.Count] before anything is allocated by it. A Reader
// is not safe for concurrent use.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrMalformed reports bytes that are not the one encoding of anything.
var ErrMalformed = errors.New("malformed")

// Reader reads primitives from bytes.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a reader of p, which must not change while its parts are in use.
func NewReader(p []byte) Reader { return Reader{rest: p} }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Len returns the number of bytes left.
func (r *Reader) Len() int { return len(r.rest) }

// Rest returns the bytes left.
func (r *Reader) Rest() []byte { return r.rest }

// Fail makes the reader fail with a message, unless it has failed before.
func (r *Reader) Fail(format string, args ...any) {
	r.FailWith(fmt.Errorf(format+": %w", append(args, ErrMalformed)...))
}

// FailWith makes the reader fail with err, unless it has failed before. Nothing is left to read
// then.
func (r *Reader) FailWith(err error) {
	if r.err == nil {
		r.err, r.rest = err, nil
	}
}

// End returns the first error, or one if bytes are left.
func (r *Reader) End() error {
	if len(r.rest) > 0 {
		r.Fail("%d bytes are left over", len(r.rest))
	}
	return r.err
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if p := r.Take(1); p != nil {
		return p[0]
	}
	return 0
}

// Uvarint reads a uvarint, which must have its shortest form.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n != UvarintLen(v) {
		r.Fail("a uvarint is cut off, too large, or not in its shortest form")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Varint reads a signed number as a uvarint of its zigzag form.
func (r *Reader) Varint() int64 {
	u := r.Uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// Uint64 reads 8 bytes, big-endian.
func (r *Reader) Uint64() uint64 {
	if p := r.Take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

// Hash reads 32 bytes.
func (r *Reader) Hash() (h [32]byte) {
	copy(h[:], r.Take(32))
	return h
}

// Take reads n bytes; it returns nil if they are not there.
func (r *Reader) Take(n int) []byte {
	if n > len(r.rest) {
		r.Fail("%d bytes are missing", n-len(r.rest))
		return nil
	}
	p := r.rest[:n:n]
	r.rest = r.rest[n:]
	return p
}

// Bytes reads a length and that many bytes, which are at least least and at most most.
func (r *Reader) Bytes(least, most int) []byte {
	n := r.Uvarint()
	if r.err == nil && (n < uint64(least) || n > uint64(most)) {
		r.Fail("a length of %d is not between %d and %d", n, least, most)
	}
	if r.err != nil {
		return nil
	}
	return r.Take(int(n))
}

// Count reads the number of items that follow, at most most of them, of which each takes at least
// size bytes. So what is allocated for them is in proportion to what was received.
func (r *Reader) Count(most, size int) int {
	n := r.Uvarint()
	if r.err == nil && (n > uint64(most) || n > uint64(len(r.rest)/size)) {
		r.Fail("a count of %d is above %d, or does not fit into %d bytes", n, most, len(r.rest))
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// UvarintLen returns the number of bytes of v as a uvarint.
func UvarintLen(v uint64) int { return max(1, (bits.Len64(v)+6)/7) }

// BytesLen returns the number of bytes that AppendBytes appends for n bytes.
func BytesLen(n int) int { return UvarintLen(uint64(n)) + n }

// AppendBytes appends the length of p and p.
func AppendBytes[T string | []byte](dst []byte, p T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(p))), p...)
}
