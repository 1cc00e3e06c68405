package memtable

import (
	"bytes"
	"unsafe"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// inner is a node that holds nodes, at least one, all of one height, in key order.
//
// It holds no keys. Each child except the first has a head of its smallest key: smaller keys belong
// to the previous child. After removals, only one child may be left.
type inner struct {
	owner  uint64
	prefix int32 // all keys below share at least this many leading bytes
	count  int16 // of children
	low    bool  // the children are leaves, else inner nodes
	size   int   // of entries below

	heads      *heads // heads[i] is of the smallest key below the child at index i+1
	headsOwner uint64 // if not owner, the heads are shared with the node that this one copies

	// One word for each child, not one for each type of node: nearly every edit copies the top, and a
	// put alone in its edit takes a fifth less time so.
	kids [innerFanout]unsafe.Pointer
}

// node is a leaf or an inner node. One of the two is not nil, unless the tree is empty.
type node struct {
	inner *inner
	leaf  *leaf
}

// kid returns the child at index i.
func (n *inner) kid(i int) node {
	if n.low {
		return node{leaf: (*leaf)(n.kids[i])}
	}
	return node{inner: (*inner)(n.kids[i])}
}

// setKid replaces the child at index i by one of the same height, or by none.
func (n *inner) setKid(i int, kid node) {
	if n.low {
		n.kids[i] = unsafe.Pointer(kid.leaf)
	} else {
		n.kids[i] = unsafe.Pointer(kid.inner)
	}
}

// size returns the number of entries below n.
func (n node) size() int {
	switch {
	case n.inner != nil:
		return n.inner.size
	case n.leaf != nil:
		return int(n.leaf.count)
	}
	return 0
}

// bytes returns the memory of all nodes from n down. It looks only at inner nodes.
func (n node) bytes() int64 {
	switch {
	case n.leaf != nil:
		return leafBytes
	case n.inner == nil:
		return 0
	case n.inner.low:
		return innerBytes + int64(n.inner.count)*leafBytes
	}
	bytes := int64(innerBytes)
	for i := range int(n.inner.count) {
		bytes += n.inner.kid(i).bytes()
	}
	return bytes
}

func (n node) smallest(chunks batch.Chunks) []byte {
	for n.inner != nil {
		n = n.inner.kid(0)
	}
	return chunks.Key(n.leaf.refs[0])
}

func (n node) largest(chunks batch.Chunks) []byte {
	for n.inner != nil {
		n = n.inner.kid(int(n.inner.count) - 1)
	}
	return chunks.Key(n.leaf.refs[n.leaf.count-1])
}

// newInner returns a node with the children left and right, in order.
func newInner(chunks batch.Chunks, owner uint64, left, right node) *inner {
	n := &inner{owner: owner, prefix: -1, count: 2, low: left.leaf != nil,
		size: left.size() + right.size(), heads: new(heads), headsOwner: owner}
	n.setKid(0, left)
	n.setKid(1, right)
	n.heads.cut(0)
	n.lengthen(chunks)
	return n
}

// ownHeads returns heads that may be changed because they are the node's own. Most edits replace
// children and leave the heads as they are.
func (n *inner) ownHeads() *heads {
	if n.headsOwner != n.owner {
		h := *n.heads
		n.heads, n.headsOwner = &h, n.owner
	}
	return n.heads
}

// route returns the index of the child that key belongs to, if key starts with the node's prefix,
// or else that of any child.
func (n *inner) route(chunks batch.Chunks, key []byte) int {
	k := head(key, int(n.prefix))
	i := n.heads.rank(k)
	if last := int(n.count) - 1; i < last && n.heads[i] == k {
		return n.routeIn(chunks, key, i, n.heads.run(i, last))
	}
	return i
}

// routeIn is route among the children from index lo to hi, comparing whole keys.
func (n *inner) routeIn(chunks batch.Chunks, key []byte, lo, hi int) int {
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if bytes.Compare(key, n.kid(mid+1).smallest(chunks)) < 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

func (n *inner) seek(chunks batch.Chunks, key []byte) int {
	first := node{inner: n}.smallest(chunks)
	if shared := keyspace.Shared(first, key); shared < int(n.prefix) {
		if shared == len(key) || key[shared] < first[shared] {
			return 0
		}
		return int(n.count) - 1
	}
	return n.route(chunks, key)
}

// fit shortens the prefix to what the keys below share with key.
func (n *inner) fit(chunks batch.Chunks, key []byte) {
	first := node{inner: n}.smallest(chunks)
	if shared := keyspace.Shared(first, key); shared < int(n.prefix) {
		n.ownHeads().shorten(int(n.count)-1, first, int(n.prefix), shared)
		n.prefix = int32(shared)
	}
}

// insert puts a child at index i, which is not 0. There must be room, and the child's keys must
// start with the node's prefix. The node's size must include its entries already.
func (n *inner) insert(chunks batch.Chunks, i int, kid node) {
	n.ownHeads().insert(i-1, int(n.count)-1, head(kid.smallest(chunks), int(n.prefix)))
	copy(n.kids[i+1:n.count+1], n.kids[i:n.count])
	n.setKid(i, kid)
	n.count++
}

// splitAt moves the children from index i on to a new node and returns it. If a side is left with
// one child, the caller must give it another and then call lengthen.
func (n *inner) splitAt(i int) *inner {
	right := &inner{owner: n.owner, prefix: n.prefix, count: n.count - int16(i),
		low: n.low, heads: new(heads), headsOwner: n.owner}
	copy(right.kids[:], n.kids[i:n.count])
	for j := range int(right.count) {
		right.size += right.kid(j).size()
	}
	n.size -= right.size
	copy(right.heads[:], n.heads[i:n.count-1])
	right.heads.cut(int(right.count) - 1)
	clear(n.kids[i:n.count])
	n.count = int16(i)
	n.ownHeads().cut(i - 1)
	return right
}

// lengthen makes the prefix as long as the keys below allow.
func (n *inner) lengthen(chunks batch.Chunks) {
	at := node{inner: n}
	shared := int32(keyspace.Shared(at.smallest(chunks), at.largest(chunks)))
	if shared == n.prefix {
		return
	}
	n.prefix = shared
	h := n.ownHeads()
	for i := range int(n.count) - 1 {
		h[i] = head(n.kid(i+1).smallest(chunks), int(shared))
	}
}
