package memtable

import (
	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Root is an immutable snapshot of a memtable. The zero Root is empty. Safe for concurrent use. It
// keeps the memory that it refers to alive, and so do the slices that it returns.
type Root struct {
	top    node
	chunks batch.Chunks
	count  int
}

// Len returns the number of entries, tombstones included.
func (r Root) Len() int { return r.count }

// Get returns the entry of key. The value aliases the memtable, must not be modified, and is empty
// but not nil if there are no bytes in it. Get does not allocate.
func (r Root) Get(key []byte) (value []byte, kind keyspace.Kind, ok bool) {
	at := r.top
	for at.inner != nil {
		at = at.inner.kids[at.inner.route(r.chunks, key)]
	}
	l := at.leaf
	if l == nil {
		return nil, 0, false
	}
	// On the way, no node's prefix was compared with key. A key that lacks one is in no leaf below
	// that node, so it makes no difference which leaf is searched for it: the leaf lacks it.
	if l.shared(r.chunks, key) < int(l.prefix) {
		return nil, 0, false
	}
	i, found := l.find(r.chunks, key, head(key, int(l.prefix)))
	if !found {
		return nil, 0, false
	}
	ref := l.refs[i]
	return r.chunks.Value(ref), ref.Kind(), true
}
