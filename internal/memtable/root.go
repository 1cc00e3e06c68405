package memtable

import (
	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Root is an immutable snapshot of a memtable. The zero Root is empty. Safe for concurrent use. It
// keeps the memory that it refers to alive, and so do the slices that it returns.
type Root struct {
	top     node
	chunks  batch.Chunks
	deleted *fragment     // the keys deleted as ranges, whatever was put there since
	expires bool          // some entries may
	written bool          // something was, if nothing is left of it
	places  *batch.Places // of the memtable, not of this snapshot of it
}

// Len returns the number of entries, tombstones included, range deletions not.
func (r Root) Len() int { return r.top.size() }

// Empty reports whether nothing was ever written. What was written and deleted again may leave
// neither entries nor range deletions, but is commits all the same.
func (r Root) Empty() bool { return !r.written && r.deleted == nil }

// Deleted returns the keys that older runs have nothing to say about: those in ranges that were
// deleted, whatever was put there since. It is nil if there are none. Each call puts them together
// anew; [Root.Around] is the way to ask for some keys.
func (r Root) Deleted() keyspace.Spans {
	if r.deleted == nil {
		return nil
	}
	return r.deleted.appendTo(make(keyspace.Spans, 0, r.deleted.size()))
}

// Around returns the widest span around key whose keys are all among the deleted ones, as Deleted
// has them, or all not, and which it is. It does not allocate; its bounds must not be modified.
func (r Root) Around(key []byte) (span keyspace.Span, deleted bool) {
	return r.deleted.around(key)
}

// Find returns the entry of key: a tombstone if key is in a range that was deleted and was not
// written since. Whether the entry has expired is for the caller to say. The value aliases the
// memtable, must not be modified, and for a put without bytes is empty but not nil. Find does not
// allocate.
func (r Root) Find(key []byte) (e keyspace.Entry, ok bool) {
	at := r.top
	for at.inner != nil {
		at = at.inner.kids[at.inner.route(r.chunks, key)]
	}
	// On the way, no node's prefix was compared with key. A key that lacks one is in no leaf below
	// that node, so it makes no difference which leaf is searched for it: the leaf lacks it.
	if l := at.leaf; l != nil && l.shared(r.chunks, key) >= int(l.prefix) {
		if i, found := l.find(r.chunks, key, head(key, int(l.prefix))); found {
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
