// Package batch is one transaction's writes, encoded: the unit of the log.
//
// An entry is
//
//	kind u8 | key length uvarint | value length uvarint (puts only) | key | value
//
// and a frame's payload is entries, one after the other, oldest first. An [Arena] collects batches
// in memory in just this form: the bytes that it keeps for the memtable are the bytes that the log
// writes, so that a value is copied once. A batch becomes one or more frames, each contiguous in
// one chunk of the arena and with room in front for the log's frame header.
//
// One writer at a time uses an Arena. What it has returned, [Ref] and [Chunks], is immutable and
// safe for concurrent use. [Decode] is pure.
//
// The package knows nothing of files, checksums, or which of two entries wins.
package batch

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Decode calls fn for each entry of a frame's payload, in the order in which they were written. The
// slices alias payload; value is nil for a tombstone. It accepts exactly what an [Arena] writes:
// the first entry that it would have written otherwise ends it with an error that matches
// corrupt.Err, with fn called for the entries before.
func Decode(payload []byte, fn func(kind keyspace.Kind, key, value []byte)) error {
	rest := payload
	for len(rest) > 0 {
		n, reason := decode(rest, fn)
		if reason != "" {
			return corrupt.New("batch", int64(len(payload)-len(rest)), "%s", reason)
		}
		rest = rest[n:]
	}
	return nil
}

// decode calls fn for the first entry of p and returns its length, or says what is wrong with it.
func decode(p []byte, fn func(kind keyspace.Kind, key, value []byte)) (n int, reason string) {
	kind := keyspace.Kind(p[0])
	if !kind.Valid() {
		return 0, "unknown kind of entry"
	}
	at := 1
	keyBytes, n := uvarint(p[at:])
	if n == 0 || keyBytes == 0 || keyBytes > keyspace.MaxInternalKeyBytes {
		return 0, "invalid key length"
	}
	at += n
	var valueBytes uint64
	if kind == keyspace.KindPut {
		valueBytes, n = uvarint(p[at:])
		if n == 0 || valueBytes > keyspace.MaxValueBytes {
			return 0, "invalid value length"
		}
		at += n
	}
	if keyBytes+valueBytes > uint64(len(p)-at) {
		return 0, "entry is cut off"
	}
	mid := at + int(keyBytes)
	end := mid + int(valueBytes)
	if kind == keyspace.KindDelete {
		fn(kind, p[at:mid:mid], nil)
	} else {
		fn(kind, p[at:mid:mid], p[mid:end:end])
	}
	return end, ""
}

// uvarint returns the number that p starts with and its length, which is 0 unless it is encoded
// in the fewest bytes.
func uvarint(p []byte) (v uint64, n int) {
	v, n = binary.Uvarint(p)
	if n <= 0 || n != uvarintLen(v) {
		return 0, 0
	}
	return v, n
}
