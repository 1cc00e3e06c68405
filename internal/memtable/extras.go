package memtable

import (
	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// extras is what a tree has that knows range deletions or entries that expire, as most do not. Like
// a node it belongs to an edit, which changes it in place, and others copy it.
type extras struct {
	owner   uint64
	hiding  *fragment // which entries are hidden: spans may touch, each with its mark
	deleted *fragment // the keys deleted, whatever was put there since: spans do not touch
}

// ownExtras makes the edit's extras its own, so that they may be changed.
func (e *Edit) ownExtras() *extras {
	x := e.extras
	switch {
	case x == nil:
		e.extras = &extras{owner: e.owner}
	case x.owner != e.owner:
		e.extras = &extras{owner: e.owner, hiding: x.hiding, deleted: x.deleted}
	}
	return e.extras
}

// hide makes the range deletion ref, which was appended last, hide all that lies in its range.
func (e *Edit) hide(ref batch.Ref) {
	chunks := e.m.arena.Chunks()
	span := keyspace.Span{Start: chunks.Key(ref), End: chunks.Value(ref)}
	x := e.ownExtras()
	before := x.bytes()
	x.hiding = e.cover(x.hiding, span, e.m.arena.Mark())
	x.deleted = e.unite(x.deleted, span)
	e.m.nodes += x.bytes() - before
	e.written = true
}

// bytes returns about how much memory the range deletions take.
func (x *extras) bytes() int64 {
	return int64(x.hiding.size()+x.deleted.size()) * fragmentBytes
}

// entry returns what there is for a key, whose entry in the tree is ref if it was found there.
func (x *extras) entry(
	chunks batch.Chunks, key []byte, ref batch.Ref, found bool,
) (e keyspace.Entry, ok bool) {
	if _, mark, covered := x.hiding.around(key); covered && (!found || ref.Before(mark)) {
		return keyspace.Entry{Kind: keyspace.KindDelete}, true
	}
	if !found {
		return keyspace.Entry{}, false
	}
	return keyspace.Entry{
		Value: chunks.Value(ref), Until: chunks.Until(ref), Kind: ref.Kind(),
	}, true
}
