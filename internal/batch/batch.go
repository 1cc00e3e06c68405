// Package batch is one transaction's writes, encoded: the unit of the log.
//
// An entry is
//
//	kind u8 | key length uvarint | value length uvarint (all but tombstones) |
//	until u64 little-endian (if flagged) | key | value
//
// where the bit 0x80 of the kind is the flag. A put may have it: then the entry expires, and until,
// which is not 0, says when. The value of a range deletion is the end of the range and greater than
// the key. A frame's payload is entries, one after the other, oldest first.
//
// An [Arena] collects batches in memory in just this form: the bytes that it keeps for the memtable
// are the bytes that the log writes, so that a value is copied once. A batch becomes one or more
// frames, each contiguous in one chunk of the arena and with room in front for the log's frame
// header. After a crash, the arena takes them back as they are. In both cases it keeps [Places]:
// where in the log its bytes lie, so that a value can be left there for good.
//
// One writer at a time uses an Arena and its Places. What it has returned, [Ref], [Mark] and
// [Chunks], is immutable and safe for concurrent use.
//
// The package knows nothing of files, checksums, clocks, or which of two entries wins.
package batch

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/stoatdb/stoat/internal/keyspace"
)

const (
	untilFlag  = 0x80 // in the byte of the kind
	untilBytes = 8
)

// putEntry writes an entry to p, which has room for it, and returns its ref as if p began a
// chunk, and its length. The code is the kind, with the flag if the entry expires.
func putEntry(p []byte, code byte, until uint64, key, value []byte) (ref Ref, n int) {
	p[0] = code
	n = 1 + binary.PutUvarint(p[1:], uint64(len(key)))
	if keyspace.Kind(code) != keyspace.KindDelete {
		n += binary.PutUvarint(p[n:], uint64(len(value)))
	}
	if code&untilFlag != 0 {
		binary.LittleEndian.PutUint64(p[n:], until)
		n += untilBytes
	}
	ref = Ref{
		offset:     uint32(n),
		keyAndCode: uint32(len(key))<<8 | uint32(code),
		valueBytes: uint32(len(value)),
	}
	n += copy(p[n:], key)
	n += copy(p[n:], value)
	return ref, n
}

// parseEntry returns the ref of the entry that p starts with, as if p began a chunk, and its
// length, or says what is wrong with it. It accepts exactly what an [Arena] writes.
func parseEntry(p []byte) (ref Ref, n int, reason string) {
	code := p[0]
	kind := keyspace.Kind(code &^ untilFlag)
	switch kind {
	case keyspace.KindPut:
	case keyspace.KindDelete, keyspace.KindDeleteRange:
		if code&untilFlag != 0 {
			return Ref{}, 0, "something other than a put expires"
		}
	default:
		return Ref{}, 0, "unknown kind of entry"
	}
	at := 1
	keyBytes, n := uvarint(p[at:])
	if n == 0 || keyBytes == 0 || keyBytes > keyspace.MaxInternalKeyBytes {
		return Ref{}, 0, "invalid key length"
	}
	at += n
	var valueBytes uint64
	if kind != keyspace.KindDelete {
		valueBytes, n = uvarint(p[at:])
		if n == 0 || valueBytes > keyspace.MaxValueBytes {
			return Ref{}, 0, "invalid value length"
		}
		at += n
	}
	if code&untilFlag != 0 {
		if len(p)-at < untilBytes {
			return Ref{}, 0, "entry is cut off"
		}
		if binary.LittleEndian.Uint64(p[at:]) == 0 {
			return Ref{}, 0, "invalid expiry"
		}
		at += untilBytes
	}
	if keyBytes+valueBytes > uint64(len(p)-at) {
		return Ref{}, 0, "entry is cut off"
	}
	middle := at + int(keyBytes)
	end := middle + int(valueBytes)
	if kind == keyspace.KindDeleteRange && bytes.Compare(p[at:middle], p[middle:end]) >= 0 {
		return Ref{}, 0, "range of keys is empty"
	}
	ref = Ref{
		offset:     uint32(at),
		keyAndCode: uint32(keyBytes)<<8 | uint32(code),
		valueBytes: uint32(valueBytes),
	}
	return ref, end, ""
}

func entryLen(code byte, key, value []byte) int {
	n := 1 + uvarintLen(uint64(len(key))) + len(key)
	if keyspace.Kind(code) != keyspace.KindDelete {
		n += uvarintLen(uint64(len(value))) + len(value)
	}
	if code&untilFlag != 0 {
		n += untilBytes
	}
	return n
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

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }
