// Package sorter sorts pairs by key, in memory.
//
// A bulk load sorts pairs that do not arrive in key order, with half the work of a memtable. Pairs
// are stored one after the other; what is sorted is 16 bytes for each, 8 of which are from its key.
// A [Sorter] is not safe for concurrent use. The package does no I/O.
package sorter

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// maxBytes is the most that a sorter holds: offsets have 32 bits, as slices have on some platforms.
const maxBytes = math.MaxInt32

const (
	lengthBytes = 8 // the lengths of a key and a value, which precede them
	entryBytes  = 16
)

// Sorter is pairs. The zero value has none.
type Sorter struct {
	data    []byte // of each pair, the lengths, the key, and the value
	entries []entry
	shared  int // leading bytes that all keys share, if there are any keys
}

// entry is a pair.
type entry struct {
	head uint64 // the first 8 bytes of the key that are not shared, set by Sort
	at   uint32 // its offset in data
}

// Add adds a pair, which is copied.
func (s *Sorter) Add(key, value []byte) {
	if len(s.entries) == 0 {
		s.shared = len(key)
	} else {
		first := s.key(s.entries[0])
		s.shared = min(s.shared, len(key))
		if !bytes.Equal(key[:s.shared], first[:s.shared]) {
			s.shared = keyspace.Shared(key[:s.shared], first)
		}
	}
	s.entries = append(s.entries, entry{at: uint32(len(s.data))})
	s.data = binary.LittleEndian.AppendUint32(s.data, uint32(len(key)))
	s.data = binary.LittleEndian.AppendUint32(s.data, uint32(len(value)))
	s.data = append(append(s.data, key...), value...)
}

// Fits reports whether a pair with a key and a value of these lengths can be added.
func (s *Sorter) Fits(key, value int) bool {
	return int64(len(s.data))+lengthBytes+int64(key)+int64(value) <= maxBytes
}

// Bytes returns how much memory the pairs take.
func (s *Sorter) Bytes() int64 {
	return int64(len(s.data)) + entryBytes*int64(len(s.entries))
}

// Len returns how many pairs were added.
func (s *Sorter) Len() int { return len(s.entries) }

// Reset removes all pairs and keeps the memory.
func (s *Sorter) Reset() { s.data, s.entries = s.data[:0], s.entries[:0] }

// Sort sorts the pairs by key. They stay sorted until the next Add.
func (s *Sorter) Sort() {
	for i, e := range s.entries {
		s.entries[i].head = keyspace.Head(s.key(e)[s.shared:])
	}
	slices.SortFunc(s.entries, s.compare)
}

// Span returns the first and the last key. There must be pairs, and they must be sorted. The slices
// are valid until the next Add or Reset.
func (s *Sorter) Span() (first, last []byte) {
	return s.key(s.entries[0]), s.key(s.entries[len(s.entries)-1])
}

// All returns the pairs, which must be sorted, in key order; of pairs with equal keys, only the
// last that was added. The slices are valid until the next Add or Reset.
func (s *Sorter) All() iter.Seq2[[]byte, []byte] { return s.From(nil) }

// From is All from the given key on.
func (s *Sorter) From(first []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		from, _ := slices.BinarySearchFunc(s.entries, first, func(e entry, first []byte) int {
			return bytes.Compare(s.key(e), first)
		})
		rest := s.entries[from:]
		for i, e := range rest {
			key, value := s.pair(e)
			if i+1 < len(rest) && bytes.Equal(key, s.key(rest[i+1])) {
				continue
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// compare orders entries by key, and entries with equal keys by when they were added.
func (s *Sorter) compare(a, b entry) int {
	if a.head != b.head {
		return cmp.Compare(a.head, b.head)
	}
	if c := bytes.Compare(s.key(a)[s.shared:], s.key(b)[s.shared:]); c != 0 {
		return c
	}
	return cmp.Compare(a.at, b.at)
}

func (s *Sorter) key(e entry) []byte {
	from := e.at + lengthBytes
	return s.data[from : from+binary.LittleEndian.Uint32(s.data[e.at:])]
}

func (s *Sorter) pair(e entry) (key, value []byte) {
	key = s.key(e)
	from := uint64(e.at) + lengthBytes + uint64(len(key))
	end := from + uint64(binary.LittleEndian.Uint32(s.data[e.at+4:]))
	return key[:len(key):len(key)], s.data[from:end:end]
}
