package memtable

import (
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// extras is what a tree has that knows range deletions or entries that expire, as most do not. Like
// a node it belongs to an edit, which changes it in place, and others copy it.
type extras struct {
	owner   uint64
	deleted fragments
	spans   atomic.Pointer[keyspace.Spans] // the keys deleted, once somebody has asked
}

// ownExtras makes the edit's extras its own, so that they may be changed.
func (e *Edit) ownExtras() *extras {
	x := e.extras
	switch {
	case x == nil:
		e.extras = &extras{owner: e.owner}
	case x.owner != e.owner:
		deleted := append(make(fragments, 0, len(x.deleted)+addMax), x.deleted...)
		e.extras = &extras{owner: e.owner, deleted: deleted}
	}
	return e.extras
}

// hide makes the range deletion ref, which was appended last, hide all that lies in its range.
func (e *Edit) hide(ref batch.Ref) {
	chunks := e.m.arena.Chunks()
	span := keyspace.Span{Start: chunks.Key(ref), End: chunks.Value(ref)}
	x := e.ownExtras()
	before := len(x.deleted)
	x.deleted = x.deleted.add(span, e.m.arena.Mark())
	x.spans.Store(nil)
	e.m.nodes += int64(len(x.deleted)-before) * fragmentBytes
	e.written = true
}

// entry returns what there is for a key, whose entry in the tree is ref if it was found there.
func (x *extras) entry(
	chunks batch.Chunks, key []byte, ref batch.Ref, found bool,
) (e keyspace.Entry, ok bool) {
	if i, covered := x.deleted.covering(key, 0); covered &&
		(!found || ref.Before(x.deleted[i].mark)) {
		return keyspace.Entry{Kind: keyspace.KindDelete}, true
	}
	if !found {
		return keyspace.Entry{}, false
	}
	return keyspace.Entry{
		Value: chunks.Value(ref), Until: chunks.Until(ref), Kind: ref.Kind(),
	}, true
}

// deletedSpans returns the keys deleted. Who asks first puts them together; the others need not.
func (x *extras) deletedSpans() keyspace.Spans {
	if spans := x.spans.Load(); spans != nil {
		return *spans
	}
	spans := x.deleted.spans()
	x.spans.Store(&spans)
	return spans
}
