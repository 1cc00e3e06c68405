package feed

import (
	"encoding/binary"
	"time"
)

// The first byte of stored entries. They are on disk.
const (
	entryValue    byte = 1
	entryRedacted byte = 2
)

// Entry is an entry of a feed.
type Entry[T any] struct {
	Seq      uint64    // its number
	At       time.Time // when it was appended, in whole milliseconds
	Redacted bool      // the value was removed, and is zero
	Value    T
}

// stored is an entry as it is stored.
type stored struct {
	redacted bool
	at       uint64 // milliseconds since 1970
	before   uint64 // bytes of all encoded values before
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

// parseEntry takes the stored form of an entry apart.
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
		return stored{}, damaged("entry %d has no offset", seq)
	}
	rest = rest[n:]
	return stored{p[0] == entryRedacted, at, before, rest[:len(rest):len(rest)]}, nil
}

// entryKey returns the key of an entry.
func entryKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// parseKey returns the number of the entry with the key.
func parseKey(key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, damaged("the key %x of an entry", key)
	}
	return binary.BigEndian.Uint64(key), nil
}
