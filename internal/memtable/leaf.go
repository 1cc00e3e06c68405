package memtable

import (
	"bytes"
	"cmp"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// leaf is a node that holds entries, at least one, in key order. It holds no pointers.
type leaf struct {
	heads heads // first, so that its lines are cache lines
	refs  [fanout]batch.Ref

	owner  uint64
	prefix int32 // all keys share exactly this many leading bytes
	count  int16 // of entries
	next   int16 // the index after the last inserted entry: where ascending keys go
	lead   [leadBytes]byte
}

// leadBytes is how much of a leaf's prefix the leaf keeps, in the cache line of its other fields. A
// longer prefix has to be looked up in the arena.
const leadBytes = 48

func newLeaf(owner uint64, key []byte, ref batch.Ref) *leaf {
	l := &leaf{owner: owner, prefix: int32(len(key)), count: 1, next: 1}
	l.heads.cut(1)
	l.heads[0] = head(key, len(key))
	l.refs[0] = ref
	copy(l.lead[:], key)
	return l
}

// shared returns how many leading bytes key shares with the leaf's prefix.
func (l *leaf) shared(chunks batch.Chunks, key []byte) int {
	if l.prefix <= leadBytes {
		return keyspace.Shared(l.lead[:l.prefix], key)
	}
	return keyspace.Shared(chunks.Key(l.refs[0])[:l.prefix], key)
}

// search returns the index of the first entry whose key is not below key, and whether it is key.
// The key must start with the leaf's prefix, and k be its head.
func (l *leaf) search(chunks batch.Chunks, key []byte, k uint64) (i int, found bool) {
	i, n := l.heads.rank(k), int(l.count)
	if i >= n || l.heads[i] != k {
		return i, false
	}
	order := l.compare(chunks, key, i)
	if order <= 0 {
		return i, order == 0
	}
	return l.searchIn(chunks, key, i+1, l.heads.run(i, n))
}

// searchIn is search among the entries from index lo to hi, which have the key's head.
func (l *leaf) searchIn(chunks batch.Chunks, key []byte, lo, hi int) (i int, found bool) {
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch order := l.compare(chunks, key, mid); {
		case order == 0:
			return mid, true
		case order < 0:
			hi = mid
		default:
			lo = mid + 1
		}
	}
	return lo, false
}

// compare compares key, which has the head of entry i, with that entry's key. If one of the two
// ends within the head, the other has zeros there or is longer: the longer one is greater.
func (l *leaf) compare(chunks batch.Chunks, key []byte, i int) int {
	ref := l.refs[i]
	headEnd := int(l.prefix) + 8
	if len(key) <= headEnd || ref.KeyLen() <= headEnd {
		return cmp.Compare(len(key), ref.KeyLen())
	}
	return bytes.Compare(key[headEnd:], chunks.Key(ref)[headEnd:])
}

func (l *leaf) seek(chunks batch.Chunks, key []byte) int {
	if shared := l.shared(chunks, key); shared < int(l.prefix) {
		if shared == len(key) || key[shared] < chunks.Key(l.refs[0])[shared] {
			return 0
		}
		return int(l.count)
	}
	i, _ := l.search(chunks, key, head(key, int(l.prefix)))
	return i
}

// shorten cuts the prefix down to its first n bytes.
func (l *leaf) shorten(chunks batch.Chunks, n int) {
	l.heads.shorten(int(l.count), chunks.Key(l.refs[0]), int(l.prefix), n)
	l.prefix = int32(n)
}

// insert puts an entry at index i. There must be room.
func (l *leaf) insert(i int, k uint64, ref batch.Ref) {
	n := int(l.count)
	l.heads.insert(i, n, k)
	copy(l.refs[i+1:n+1], l.refs[i:n])
	l.refs[i] = ref
	l.count++
	l.next = int16(i + 1)
}

// splitAt moves the entries from index i on to a new leaf and returns it. Neither leaf may become
// empty.
func (l *leaf) splitAt(chunks batch.Chunks, i int) *leaf {
	right := &leaf{owner: l.owner, prefix: l.prefix, count: l.count - int16(i), lead: l.lead}
	copy(right.heads[:], l.heads[i:l.count])
	copy(right.refs[:], l.refs[i:l.count])
	right.heads.cut(int(right.count))
	l.count, l.next = int16(i), 0
	l.heads.cut(i)
	l.lengthen(chunks)
	right.lengthen(chunks)
	return right
}

// remove removes the entries [i, j) from the leaf, which must keep some.
func (l *leaf) remove(chunks batch.Chunks, i, j int) {
	n := int(l.count)
	copy(l.heads[i:], l.heads[j:n])
	copy(l.refs[i:], l.refs[j:n])
	l.count -= int16(j - i)
	l.heads.cut(int(l.count))
	if next := int(l.next); next > i {
		l.next = int16(max(i, next-(j-i)))
	}
	l.lengthen(chunks)
}

// lengthen makes the prefix as long as the leaf's keys allow.
func (l *leaf) lengthen(chunks batch.Chunks) {
	n := int(l.count)
	first := chunks.Key(l.refs[0])
	shared := keyspace.Shared(first, chunks.Key(l.refs[n-1]))
	more := shared - int(l.prefix)
	if more == 0 {
		return
	}
	for i := range n {
		if l.refs[i].KeyLen() <= int(l.prefix)+8 { // the head has all of the key
			l.heads[i] <<= 8 * uint(more)
		} else {
			l.heads[i] = head(chunks.Key(l.refs[i]), shared)
		}
	}
	l.prefix = int32(shared)
	copy(l.lead[:], first)
}
