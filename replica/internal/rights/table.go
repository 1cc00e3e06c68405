package rights

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
)

// edit identifies the tree that may change a part in place, because no other tree has it yet.
type edit struct{ _ byte } // of a size: the addresses of two are different

// table is a hash map that costs nothing to copy: a copy shares with the original what neither of
// them has changed since. It is a trie by the bits of the hashes.
type table[K comparable, V any] struct {
	hash func(K) uint64
	root *branch[K, V] // nil: it is empty
}

// branch is a part of a table, for those keys whose hashes begin with the same bits.
type branch[K comparable, V any] struct {
	edit   *edit
	filled uint32       // of the 32 ways to go on, those that there are
	slots  []slot[K, V] // one for each of them; behind the last bit of the hash: one for each key
}

// slot is what lies on a way: a key, or a branch if there are more.
type slot[K comparable, V any] struct {
	pair *pair[K, V] // nil: it is a branch
	more *branch[K, V]
}

// pair is a key with its value. It is immutable.
type pair[K comparable, V any] struct {
	key   K
	value V
}

// branchBits is how many bits of the hash one branch looks at.
const branchBits = 5

// newTable returns an empty table. Its hashes cannot be foreseen: peers choose keys.
func newTable[K comparable, V any]() table[K, V] {
	seed := maphash.MakeSeed()
	return table[K, V]{hash: func(key K) uint64 { return maphash.Comparable(seed, key) }}
}

// get returns the value of a key, or the zero value.
func (t *table[K, V]) get(key K) (value V) {
	if t.root == nil {
		return value
	}
	hash := t.hash(key)
	for b, depth := t.root, 0; ; depth += branchBits {
		i, found := b.find(hash, depth, key)
		switch {
		case !found:
			return value
		case b.slots[i].more != nil:
			b = b.slots[i].more
		case b.slots[i].pair.key == key:
			return b.slots[i].pair.value
		default:
			return value
		}
	}
}

// set gives a key a value. It changes in place what belongs to the edit, and copies the rest.
func (t *table[K, V]) set(e *edit, key K, value V) {
	if t.root == nil {
		t.root = &branch[K, V]{edit: e}
	}
	t.root = t.put(t.root, e, 0, &pair[K, V]{key, value})
}

// put sets a pair in a branch that is so many bits deep, and returns it or its copy.
func (t *table[K, V]) put(b *branch[K, V], e *edit, depth int, p *pair[K, V]) *branch[K, V] {
	if b.edit != e {
		b = &branch[K, V]{e, b.filled, slices.Clone(b.slots)}
	}
	hash := t.hash(p.key)
	i, found := b.find(hash, depth, p.key)
	if !found {
		b.slots = slices.Insert(b.slots, i, slot[K, V]{pair: p})
		b.filled |= wayOf(hash, depth)
		return b
	}
	s := &b.slots[i]
	if s.more == nil && s.pair.key == p.key {
		s.pair = p
		return b
	}
	if s.more == nil { // another key has gone this way alone
		s.more = t.put(&branch[K, V]{edit: e}, e, depth+branchBits, s.pair)
		s.pair = nil
	}
	s.more = t.put(s.more, e, depth+branchBits, p)
	return b
}

// wayOf returns the bit of the way to go on at a depth, or 0 behind the last bit of the hash.
func wayOf(hash uint64, depth int) uint32 {
	if depth >= 64 {
		return 0
	}
	return 1 << (hash >> depth & (1<<branchBits - 1))
}

// find returns the slot for a hash, or the key behind its last bit, or where it would be.
func (b *branch[K, V]) find(hash uint64, depth int, key K) (i int, found bool) {
	way := wayOf(hash, depth)
	if way == 0 {
		i = slices.IndexFunc(b.slots, func(s slot[K, V]) bool { return s.pair.key == key })
		return max(i, 0), i >= 0
	}
	return bits.OnesCount32(b.filled & (way - 1)), b.filled&way != 0
}

// all returns an iterator over the keys, in no order.
func (t *table[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if t.root != nil {
			t.root.each(yield)
		}
	}
}

func (b *branch[K, V]) each(yield func(K, V) bool) bool {
	for _, s := range b.slots {
		if s.more != nil && !s.more.each(yield) ||
			s.more == nil && !yield(s.pair.key, s.pair.value) {
			return false
		}
	}
	return true
}

// list is a slice that costs little to copy and to append to, in turn: of the lists that share an
// array, the first one that grows goes on in it.
type list[T any] struct {
	items []T
	used  *int // of the array, by any list
}

// with returns the list with an item appended. Of lists that share an array, one at a time may be
// appended to; all may be read meanwhile.
func (l list[T]) with(item T) list[T] {
	if l.used == nil || *l.used > len(l.items) {
		l.items = slices.Clip(l.items)
	}
	full := len(l.items) == cap(l.items)
	l.items = append(l.items, item)
	if full {
		l.used = new(int)
	}
	*l.used = len(l.items)
	return l
}
