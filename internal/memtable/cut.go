package memtable

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// bare reports whether nothing older than the memtable shows at key, so that its deletion leaves no
// tombstone.
func (e *Edit) bare(key []byte) bool {
	if _, deleted := e.deleted.around(key); deleted {
		return true
	}
	return e.below != nil && e.below.Absent(key)
}

// hide removes all entries in a span and hides what older runs have there. The span must have both
// bounds and must not change.
func (e *Edit) hide(span keyspace.Span) {
	e.cut(span)
	before := e.deleted.size()
	e.deleted = e.unite(e.deleted, span)
	e.m.nodes += int64(e.deleted.size()-before) * fragmentBytes
}

// cut removes all entries in a span from the tree.
func (e *Edit) cut(span keyspace.Span) {
	var c Cursor
	c.Init(e.Peek())
	if !c.Seek(span.Start) || bytes.Compare(c.Key(), span.End) >= 0 {
		return // copy no node in vain
	}
	e.top, _ = e.trim(e.top, e.m.arena.Chunks(), span)
	for e.top.inner != nil && e.top.inner.count == 1 {
		e.m.nodes -= innerBytes
		e.top = e.top.inner.kid(0)
	}
}

// trim removes the entries in a span from the node at and returns what is left of it, no
// node if there is nothing, and how many it removed.
func (e *Edit) trim(at node, chunks batch.Chunks, span keyspace.Span) (left node, removed int) {
	if at.leaf != nil {
		return e.trimLeaf(at.leaf, chunks, span)
	}
	n := e.own(at.inner)
	a, b := n.seek(chunks, span.Start), n.seek(chunks, span.End)
	first, end := a, b+1 // the children to remove: those between a and b, and a and b if empty
	for i := a + 1; i < b; i++ {
		removed += n.kid(i).size()
		e.m.nodes -= n.kid(i).bytes()
	}
	removed += e.trimKid(n, a, chunks, span)
	if n.kids[a] != nil {
		first++
	}
	if b > a {
		removed += e.trimKid(n, b, chunks, span)
		if n.kids[b] != nil {
			end--
		}
	}
	if n.size -= removed; n.size == 0 {
		e.m.nodes -= innerBytes
		return node{}, removed
	}
	n.remove(first, end)
	n.rehead(chunks, a)
	n.rehead(chunks, first)
	return node{inner: n}, removed
}

// trimKid is trim for the child at index i of a node that is the edit's own.
func (e *Edit) trimKid(n *inner, i int, chunks batch.Chunks, span keyspace.Span) int {
	kid, removed := e.trim(n.kid(i), chunks, span)
	n.setKid(i, kid)
	return removed
}

// trimLeaf is trim for a leaf, which stays as it is if none of its entries lie in the span.
func (e *Edit) trimLeaf(
	l *leaf, chunks batch.Chunks, span keyspace.Span,
) (left node, removed int) {
	i, j := l.seek(chunks, span.Start), l.seek(chunks, span.End)
	switch {
	case i == j:
	case j-i == int(l.count):
		e.m.nodes -= leafBytes
		return node{}, j - i
	default:
		l = e.ownLeaf(l)
		l.remove(chunks, i, j)
	}
	return node{leaf: l}, j - i
}

// remove removes the children [first, end) from the node, which must keep some. The caller must
// call rehead for the children beside them.
func (n *inner) remove(first, end int) {
	if first == end {
		return
	}
	count, gone := int(n.count), end-first
	h, i := n.ownHeads(), max(first-1, 0)
	copy(h[i:], h[i+gone:count-1])
	copy(n.kids[first:], n.kids[end:count])
	clear(n.kids[count-gone : count])
	n.count = int16(count - gone)
	h.cut(int(n.count) - 1)
}

// rehead updates the head of child i, if it has one, after its smallest key may have changed.
func (n *inner) rehead(chunks batch.Chunks, i int) {
	if i == 0 || i >= int(n.count) {
		return
	}
	if k := head(n.kid(i).smallest(chunks), int(n.prefix)); k != n.heads[i-1] {
		n.ownHeads()[i-1] = k
	}
}
