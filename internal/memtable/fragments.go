package memtable

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// fragmentBytes is about what a fragment takes in memory.
const fragmentBytes = 96

// fragment is a span of deleted keys, and a node of a set of such spans, which neither overlap nor
// touch. The set is a treap: a search tree balanced by pseudo-random priorities, none below those
// of the node's children. Like other nodes, a fragment belongs to an edit, which changes it in
// place; others copy it. A deletion costs, and copies, about the logarithm of the number of
// fragments.
//
// A nil fragment is the empty set. Methods that change a set return the new one; the old one must
// not be used again, unless all of it belongs to other edits.
type fragment struct {
	keyspace.Span // with both bounds
	priority      uint32
	count         int32 // of fragments in this subtree
	owner         uint64
	left, right   *fragment
}

func (e *Edit) newFragment(span keyspace.Span) *fragment {
	e.m.fragments++
	return &fragment{
		Span: span, priority: scatter(e.m.fragments), count: 1, owner: e.owner,
	}
}

// scatter returns a pseudo-random number that differs for nearly every n.
func scatter(n uint64) uint32 {
	n *= 0x9E3779B97F4A7C15
	n ^= n >> 32
	n *= 0xD6E8FEB86659FD93
	return uint32(n >> 32)
}

func (f *fragment) size() int {
	if f == nil {
		return 0
	}
	return int(f.count)
}

// find sets e to a tombstone if a fragment covers key, and reports whether one does.
func (f *fragment) find(key []byte, e *keyspace.Entry) bool {
	if f == nil {
		return false
	}
	_, covered := f.around(key)
	if covered {
		*e = keyspace.Entry{Kind: keyspace.KindDelete}
	}
	return covered
}

// around returns the widest span around key that one fragment covers, or that none does.
func (f *fragment) around(key []byte) (span keyspace.Span, covered bool) {
	for f != nil {
		switch {
		case bytes.Compare(key, f.Start) < 0:
			span.End, f = f.Start, f.left
		case bytes.Compare(f.End, key) <= 0:
			span.Start, f = f.End, f.right
		default:
			return f.Span, true
		}
	}
	return span, false
}

func (f *fragment) appendTo(dst keyspace.Spans) keyspace.Spans {
	if f == nil {
		return dst
	}
	return f.right.appendTo(append(f.left.appendTo(dst), f.Span))
}

// own returns a copy of f, unless it belongs to owner.
func (f *fragment) own(owner uint64) *fragment {
	if f.owner == owner {
		return f
	}
	g := *f
	g.owner = owner
	return &g
}

// with sets the children and returns f, which must be the edit's own.
func (f *fragment) with(left, right *fragment) *fragment {
	f.left, f.right = left, right
	f.count = int32(1 + left.size() + right.size())
	return f
}

// split returns the fragments that start below key, and the rest. The nodes at the right edge of
// the former and at the left edge of the latter are the owner's own.
func (f *fragment) split(owner uint64, key []byte) (below, rest *fragment) {
	if f == nil {
		return nil, nil
	}
	f = f.own(owner)
	if bytes.Compare(f.Start, key) < 0 {
		below, rest = f.right.split(owner, key)
		return f.with(f.left, below), rest
	}
	below, rest = f.left.split(owner, key)
	return below, f.with(rest, f.right)
}

// join returns the fragments of f followed by those of g. The right edge of f and the left edge of
// g must be the edit's own, as split leaves them.
func (f *fragment) join(g *fragment) *fragment {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	case f.priority >= g.priority:
		return f.with(f.left, f.right.join(g))
	default:
		return g.with(f.join(g.left), g.right)
	}
}

func (f *fragment) first() *fragment {
	for f != nil && f.left != nil {
		f = f.left
	}
	return f
}

func (f *fragment) last() *fragment {
	for f != nil && f.right != nil {
		f = f.right
	}
	return f
}

func (f *fragment) endsAbove(key []byte) bool {
	return f != nil && bytes.Compare(key, f.End) < 0
}

// unite returns f with a span added, merged with all that it overlaps or touches.
func (e *Edit) unite(f *fragment, span keyspace.Span) *fragment {
	below, rest := f.split(e.owner, span.Start)
	if before := below.last(); before != nil && bytes.Compare(before.End, span.Start) >= 0 {
		span.Start = before.Start
		if before.endsAbove(span.End) {
			span.End = before.End
		}
		below, _ = below.split(e.owner, before.Start)
	}
	within, above := rest.split(e.owner, span.End)
	if last := within.last(); last.endsAbove(span.End) {
		span.End = last.End
	}
	if next := above.first(); next != nil && bytes.Equal(next.Start, span.End) {
		span.End = next.End
		_, above = above.split(e.owner, next.End)
	}
	return below.join(e.newFragment(span)).join(above)
}
