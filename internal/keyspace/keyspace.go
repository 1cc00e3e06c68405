// Package keyspace says what an entry is and how buckets become ordered keys.
//
// All buckets share one ordered key space. A key of it, an internal key, starts with a byte that
// says which [Space] it is in, and the id of a bucket; docs/format.md has the details. The encoding
// preserves order: all keys of one bucket are neighbours, in the order of the user's keys, and all
// catalog entries sort before all data. All functions are pure.
package keyspace

import "encoding/binary"

// Kind says what an entry does to its key. The numbers are stored on disk and never reused.
type Kind uint8

const (
	KindPut     Kind = 1 // the key has the value
	KindDelete  Kind = 2 // the key is absent, whatever older runs say: a tombstone
	KindPointer Kind = 3 // the key has a value that lies in another file; in tables only
	// KindDeleteRange says that all keys from this one up to the value, which is a key and not
	// included, are absent, whatever was written before; in the log and the memtable only.
	KindDeleteRange Kind = 4
)

// Entry is what a memtable or a table has for a key.
type Entry struct {
	Value []byte // empty for a tombstone
	Until uint64 // the key is absent from then on, in milliseconds since 1970; 0 stands for never
	Kind  Kind

	// Dictionary is not 0 if Value is encoded with the dictionary of that number, as it is on its
	// way from one table to another; Length is the value's then, as it was.
	Dictionary uint64
	Length     uint32
}

// Size returns the length of the value, as it was before it was encoded.
func (e Entry) Size() int {
	if e.Dictionary != 0 {
		return int(e.Length)
	}
	return len(e.Value)
}

// RootID is the id of the bucket that always exists.
const RootID uint64 = 0

// Limits of what is stored.
const (
	// MaxPrefixBytes is the longest prefix that a bucket's id puts before the keys in it.
	MaxPrefixBytes = 9
	// MaxKeyBytes is the longest key of a user, and the longest name of a bucket.
	MaxKeyBytes = 65_535
	// MaxInternalKeyBytes is the longest internal key: the name of a bucket, behind the space byte
	// and the id of its parent.
	MaxInternalKeyBytes = 1 + MaxPrefixBytes + MaxKeyBytes
	// MaxValueBytes is the longest value.
	MaxValueBytes = 1 << 30
)

// AppendPrefix appends the prefix of all user keys in the bucket id.
func AppendPrefix(dst []byte, id uint64) []byte { return appendID(dst, byte(SpaceData), id) }

// AppendCatalog appends the prefix of the catalog entries of all buckets within parent; with a name
// after it, it is the key of that bucket's entry.
func AppendCatalog(dst []byte, parent uint64) []byte {
	return appendID(append(dst, byte(SpaceCatalog)), 0, parent)
}

// AppendSequence appends the key of the sequence of the bucket id.
func AppendSequence(dst []byte, id uint64) []byte {
	return appendID(append(dst, byte(SpaceSequence)), 0, id)
}

// AppendDropped appends the key that says the bucket id was dropped.
func AppendDropped(dst []byte, id uint64) []byte {
	return appendID(append(dst, byte(SpaceDropped)), 0, id)
}

// AppendNextID appends the key under which the next bucket id is kept.
func AppendNextID(dst []byte) []byte { return append(dst, byte(SpaceNextID)) }

// AppendSalvage appends the key of the number of the salvage that made the database.
func AppendSalvage(dst []byte) []byte { return append(dst, byte(SpaceSalvage)) }

// Successor returns the smallest key that is greater than every key with the given prefix, in a new
// slice, or nil if there is none (the prefix is empty or all 0xFF).
func Successor(prefix []byte) []byte { return AppendSuccessor(nil, prefix) }

// AppendSuccessor appends what [Successor] returns, nothing if that is nil.
func AppendSuccessor(dst, prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			dst = append(dst, prefix[:i+1]...)
			dst[len(dst)-1]++
			break
		}
	}
	return dst
}

// BucketOf returns the id of the bucket that an internal key belongs to: the bucket whose data,
// sequence or children it holds. ok is false for keys that belong to none and for malformed ones.
func BucketOf(key []byte) (id uint64, ok bool) {
	if len(key) == 0 {
		return 0, false
	}
	switch space := Space(key[0]); {
	case space == SpaceCatalog || space == SpaceSequence:
		id, _, ok = parseID(key[1:], 0)
	case space >= SpaceData && space <= SpaceData+8:
		id, _, ok = parseID(key, byte(SpaceData))
	}
	return id, ok
}

// ParseDropped returns the bucket id of a key made by [AppendDropped].
func ParseDropped(key []byte) (id uint64, ok bool) {
	if len(key) == 0 || key[0] != byte(SpaceDropped) {
		return 0, false
	}
	id, _, ok = parseID(key[1:], 0)
	return id, ok
}

// DroppedRange returns the range of internal keys that holds every key made by [AppendDropped].
func DroppedRange() (first, end []byte) {
	return []byte{byte(SpaceDropped)}, []byte{byte(SpaceNextID)}
}

// FirstData returns the smallest key that user data can have: the catalog lies below it.
func FirstData() []byte { return []byte{byte(SpaceData)} }

// IsData reports whether an internal key is that of user data.
func IsData(key []byte) bool { return len(key) > 0 && key[0] >= byte(SpaceData) }

// Ranges returns the three ranges [first, end) of internal keys that can hold anything of the
// buckets first to last: their data, their sequences, and the catalog entries of their children.
func Ranges(first, last uint64) [3][2][]byte {
	var r [3][2][]byte
	for i, appendKey := range Prefixes() {
		r[i] = [2][]byte{appendKey(nil, first), Successor(appendKey(nil, last))}
	}
	return r
}

// Prefixes returns what appends the prefixes of those ranges for one bucket. Each orders them like
// the ids.
func Prefixes() [3]func(dst []byte, id uint64) []byte {
	return [...]func([]byte, uint64) []byte{AppendPrefix, AppendSequence, AppendCatalog}
}

func appendID(dst []byte, base byte, id uint64) []byte {
	if id == 0 {
		return append(dst, base)
	}
	var be [8]byte
	binary.BigEndian.PutUint64(be[:], id)
	i := 0
	for be[i] == 0 {
		i++
	}
	return append(append(dst, base+byte(8-i)), be[i:]...)
}

func parseID(p []byte, base byte) (id uint64, rest []byte, ok bool) {
	if len(p) == 0 || p[0] < base || p[0] > base+8 || len(p) < 1+int(p[0]-base) {
		return 0, nil, false
	}
	n := int(p[0] - base)
	for _, b := range p[1 : 1+n] {
		id = id<<8 | uint64(b)
	}
	return id, p[1+n:], true
}
