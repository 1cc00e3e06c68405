package feed

import (
	"encoding/binary"
	"time"
)

// The first byte of a stored entry. These values are on disk.
const (
	entryValue    byte = 1
	entryRedacted byte = 2
)

// Entry is an entry of a feed, with its value.
type Entry[T any] struct {
	Seq      uint64    // the entry's number
	At       time.Time // when it was appended, in whole milliseconds
	Redacted bool      // the value was removed and is zero
	Value    T
}

// stored is an entry in its stored form.
type stored struct {
	redacted bool
	at       uint64 // when it was appended, in milliseconds since 1970
	before   uint64 // size of all encoded values before it, in bytes
	value    []byte // part of what was parsed
}

func (e *stored) append(dst []byte) []byte {
	kind := entryValue
	if e.redacted {
		kind = entryRedacted
	}
	dst = binary.AppendUvarint(append(dst, kind), e.at)
	dst = binary.AppendUvarint(dst, e.before)
	return append(dst, e.value...)
}

// parseEntry parses the stored form of an entry.
func parseEntry(seq uint64, p []byte) (stored, error) {
	if len(p) == 0 || p[0] != entryValue && p[0] != entryRedacted {
		return stored{}, damaged("entry %d starts with % x", seq, p[:min(len(p), 1)])
	}
	at, n := binary.Uvarint(p[1:])
	if n <= 0 {
		return stored{}, damaged("entry %d has no time", seq)
	}
	rest := p[1+n:]
	before, n := binary.Uvarint(rest)
	if n <= 0 {
		return stored{}, damaged("entry %d has no size of the values before it", seq)
	}
	rest = rest[n:]
	return stored{p[0] == entryRedacted, at, before, rest[:len(rest):len(rest)]}, nil
}

// entryKey returns the key of an entry.
func entryKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// parseKey returns the number of the entry with the given key.
func parseKey(key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, damaged("the entry key %x does not have 8 bytes", key)
	}
	return binary.BigEndian.Uint64(key), nil
}
