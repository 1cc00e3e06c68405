package batch

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Ref says where in an arena an entry's key and value lie, and what the entry is. It holds no
// pointers. The zero Ref refers to nothing.
type Ref struct {
	chunk      uint32
	offset     uint32 // of the key; the value follows it, and until, if there is one, precedes it
	keyAndCode uint32 // key length in the upper 24 bits; kind and flag, as encoded, in the lower 8
	valueBytes uint32
}

// Kind returns the entry's kind.
func (r Ref) Kind() keyspace.Kind { return keyspace.Kind(r.keyAndCode &^ untilFlag) }

// KeyLen returns the length of the entry's key in bytes.
func (r Ref) KeyLen() int { return int(r.keyAndCode >> 8) }

// Expires reports whether the entry is a put with an expiry.
func (r Ref) Expires() bool { return r.keyAndCode&untilFlag != 0 }

// moved returns the ref of an entry whose ref within p[offset:] is r, where p is the given chunk.
func (r Ref) moved(chunk, offset int) Ref {
	r.chunk = uint32(chunk)
	r.offset += uint32(offset)
	return r
}

// Mark is a moment in the life of an [Arena]: it tells what was appended before from what came
// after. It holds as long as nothing before it is rolled back.
//
// Positions are enough: of the chunks that existed at that moment, only the one being filled is
// ever written to again, after its tail.
type Mark struct {
	chunks  int32 // how many existed
	current int32 // the one being filled; -1 if there was none
	tail    int32 // the first unused byte in it
}

// follows reports whether the position was written to before m.
func (m Mark) follows(chunk, offset int32) bool {
	return chunk < m.chunks && (chunk != m.current || offset < m.tail)
}

// Chunks is the memory of an arena as it was at some moment; it resolves the refs handed out until
// then. Immutable, and kept alive by the slices that it returns.
type Chunks [][]byte

// Key returns the key of r's entry.
func (c Chunks) Key(r Ref) []byte {
	end := r.offset + r.keyAndCode>>8
	return c[r.chunk][r.offset:end:end]
}

// Value returns the value of r's entry: empty but not nil if it has none.
func (c Chunks) Value(r Ref) []byte {
	start := r.offset + r.keyAndCode>>8
	end := start + r.valueBytes
	return c[r.chunk][start:end:end]
}

// Until returns when r's entry expires, in milliseconds since 1970, or 0 if never.
func (c Chunks) Until(r Ref) uint64 {
	if !r.Expires() {
		return 0
	}
	return binary.LittleEndian.Uint64(c[r.chunk][r.offset-untilBytes:])
}

// Tail returns r's entry without the first strip bytes of its key.
func (c Chunks) Tail(r Ref, strip int) (key, value []byte) {
	chunk := c[r.chunk]
	middle := r.offset + r.keyAndCode>>8
	end := middle + r.valueBytes
	return chunk[int(r.offset)+strip : middle : middle], chunk[middle:end:end]
}
