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
		for n := at.inner.kids[i].size(); index >= n; n = at.inner.kids[i].size() {
			index -= n
			i++
		}
		at = at.inner.kids[i]
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

// Find returns the entry of key: a tombstone if key lies in a deleted range and was not written
// since. It does not check whether the entry has expired. The value aliases the memtable and must
// not be modified; the empty value of a put is not nil. Find does not allocate.
func (r Root) Find(key []byte) (e keyspace.Entry, ok bool) {
	at := r.top
	for at.inner != nil {
		at = at.inner.kids[at.inner.route(r.chunks, key)]
	}
	// No inner node's prefix was compared with key. A key without that prefix is in no leaf below
	// the node, so it does not matter which leaf is searched: the leaf does not have it.
	if l := at.leaf; l != nil && l.shared(r.chunks, key) >= int(l.prefix) {
		if i, found := l.search(r.chunks, key, head(key, int(l.prefix))); found {
			ref := l.refs[i]
			return keyspace.Entry{
				Value: r.chunks.Value(ref), Until: r.chunks.Until(ref), Kind: ref.Kind(),
			}, true
		}
	}
	if _, deleted := r.deleted.around(key); deleted {
		return keyspace.Entry{Kind: keyspace.KindDelete}, true
	}
	return keyspace.Entry{}, false
}
