package batch

import "github.com/stoatdb/stoat/internal/keyspace"

// Ref says where in an arena an entry's key and value lie, and what the entry is. It holds no
// pointers. The zero Ref refers to nothing.
type Ref struct {
	chunk      uint32
	offset     uint32 // of the key; the value follows it
	keyAndKind uint32 // key length in the upper 24 bits, kind in the lower 8
	valueBytes uint32
}

// Kind returns the entry's kind.
func (r Ref) Kind() keyspace.Kind { return keyspace.Kind(r.keyAndKind) }

// KeyLen returns the length of the entry's key in bytes.
func (r Ref) KeyLen() int { return int(r.keyAndKind >> 8) }

// Chunks is the memory of an arena as it was at some moment; it resolves the refs handed out until
// then. Immutable, and kept alive by the slices that it returns.
type Chunks [][]byte

// Key returns the key of r's entry.
func (c Chunks) Key(r Ref) []byte {
	end := r.offset + r.keyAndKind>>8
	return c[r.chunk][r.offset:end:end]
}

// Value returns the value of r's entry: empty but not nil if it has none.
func (c Chunks) Value(r Ref) []byte {
	start := r.offset + r.keyAndKind>>8
	end := start + r.valueBytes
	return c[r.chunk][start:end:end]
}

// Entry returns both key and value of r's entry.
func (c Chunks) Entry(r Ref) (key, value []byte) {
	chunk := c[r.chunk]
	middle := r.offset + r.keyAndKind>>8
	end := middle + r.valueBytes
	return chunk[r.offset:middle:middle], chunk[middle:end:end]
}

// Tail returns r's entry without the first strip bytes of its key.
func (c Chunks) Tail(r Ref, strip int) (key, value []byte) {
	chunk := c[r.chunk]
	middle := r.offset + r.keyAndKind>>8
	end := middle + r.valueBytes
	return chunk[int(r.offset)+strip : middle : middle], chunk[middle:end:end]
}
