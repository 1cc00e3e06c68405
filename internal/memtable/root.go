package memtable

import (
	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Root is an immutable snapshot of a memtable. The zero Root is empty. Safe for concurrent use. A
// Root, and the slices that it returns, keep the memory alive that they refer to.
type Root struct {
	top     node
	chunks  batch.Chunks
	deleted *fragment     // the deleted ranges, whatever was put there since
	expires bool          // some entries may expire
	written bool          // something was written, even if nothing is left of it
	places  *batch.Places // of the memtable, not of this snapshot
}

// Len returns the number of entries, including tombstones but not range deletions.
func (r Root) Len() int { return r.top.size() }

// Key returns the key of the entry with the given index in key order. There must be one. The key
// must not be modified.
func (r Root) Key(index int) []byte {
	at := r.top
	for at.inner != nil {
		i := 0
		for n := at.inner.kid(i).size(); index >= n; n = at.inner.kid(i).size() {
			index -= n
			i++
		}
		at = at.inner.kid(i)
	}
	return r.chunks.Key(at.leaf.refs[index])
}

// Empty reports whether nothing was ever written. Writes that were deleted again may leave neither
// entries nor range deletions, but they were commits.
func (r Root) Empty() bool { return !r.written && r.deleted == nil }

// Deleted returns the ranges that were deleted, whatever was put there since: entries of older runs
// do not count in them. Each call builds the result; use [Root.Around] to ask about single keys.
func (r Root) Deleted() keyspace.Spans {
	if r.deleted == nil {
		return nil
	}
	return r.deleted.appendTo(make(keyspace.Spans, 0, r.deleted.size()))
}

// Around returns the widest span around key whose keys all lie in deleted ranges, as Deleted has
// them, or all not, and reports which. It does not allocate. The bounds must not be modified.
func (r Root) Around(key []byte) (span keyspace.Span, deleted bool) {
	return r.deleted.around(key)
}

// Find sets e to the entry of key and reports whether there is one: a tombstone if key lies in a
// deleted range and was not written since. It does not check whether the entry has expired. The
// value aliases the memtable and must not be modified; the empty value of a put is not nil. Find
// does not allocate.
func (r *Root) Find(key []byte, e *keyspace.Entry) bool {
	return !r.Empty() && (r.top.find(r.chunks, key, e) || r.deleted.find(key, e))
}

// find is [Root.Find] for keys that were put or deleted alone.
func (n node) find(chunks batch.Chunks, key []byte, e *keyspace.Entry) bool {
	for n.inner != nil {
		n = n.inner.kid(n.inner.route(chunks, key))
	}
	// No inner node's prefix was compared with key. A key without that prefix is in no leaf below
	// the node, so it does not matter which leaf is searched: the leaf does not have it.
	l := n.leaf
	if l == nil || l.shared(chunks, key) < int(l.prefix) {
		return false
	}
	i, found := l.search(chunks, key, head(key, int(l.prefix)))
	if found {
		ref := l.refs[i]
		*e = keyspace.Entry{Value: chunks.Value(ref), Until: chunks.Until(ref), Kind: ref.Kind()}
	}
	return found
}
