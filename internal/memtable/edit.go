package memtable

import (
	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Edit is one transaction's changes to a memtable: a private tree and a batch. It ends with Commit
// or Rollback and must not be used afterwards. Not safe for concurrent use.
type Edit struct {
	m       *Memtable
	owner   uint64 // of the nodes that may be changed in place
	top     node
	deleted *fragment
	expires bool // as in Root
	written bool
	below   Below // nil if nothing is known about it
	nodes   int64 // of the memtable when the edit began
}

// maxHeight bounds the number of inner nodes above a leaf. Splits leave only nodes at the right
// edge of the tree less than half full, so a higher tree would have had at least
// (innerFanout/2)^maxHeight leaves. Some may be gone, but the arena still holds their entries.
const maxHeight = 12

// path leads from the top to a leaf: the inner nodes, and the index of the next child in each.
type path struct {
	steps  [maxHeight]step
	height int
}

// step is one inner node of a path.
type step struct {
	inner *inner
	at    int
}

func (p *path) push(n *inner, at int) {
	p.steps[p.height] = step{n, at}
	p.height++
}

// rightmost reports whether the path leads to the right edge of the tree.
func (p *path) rightmost() bool {
	for _, s := range p.steps[:p.height] {
		if s.at+1 < int(s.inner.count) {
			return false
		}
	}
	return true
}

// PutUntil sets the value of key until a moment in milliseconds since 1970, or for good if that is
// 0. Key and value are copied. The limits are those of [batch.Arena.Append].
func (e *Edit) PutUntil(key, value []byte, until uint64) {
	e.apply(e.m.arena.Append(keyspace.KindPut, until, key, value))
}

// Delete makes key absent, here and in older runs. It leaves a tombstone, unless nothing older can
// have the key.
func (e *Edit) Delete(key []byte) {
	e.apply(e.m.arena.Append(keyspace.KindDelete, 0, key, nil))
}

// DeleteRange makes all keys in the span absent, here and in older runs, at the same cost whatever
// lies in the span. The span must have both bounds, which are copied, and start at a key before its
// end.
func (e *Edit) DeleteRange(span keyspace.Span) {
	e.apply(e.m.arena.Append(keyspace.KindDeleteRange, 0, span.Start, span.End))
}

// Clear is DeleteRange for a span in which, as the caller has found out, no key exists, so that
// nobody has to find out again. It changes no key, so it is not logged.
func (e *Edit) Clear(span keyspace.Span) {
	e.hide(span.Clone())
}

// Replay repeats the writes of a frame's payload, which lies in a log file at the offset at. The
// payload is copied. The frame counts as taken. After an error, which is one of
// [batch.Arena.Replay], the edit must be rolled back.
func (e *Edit) Replay(payload []byte, at int64) error {
	return e.m.arena.Replay(payload, at, e.apply)
}

// Empty reports whether nothing was written.
func (e *Edit) Empty() bool { return !e.written }

// Find is [Root.Find] in the tree as it is now.
func (e *Edit) Find(key []byte, entry *keyspace.Entry) bool {
	return e.top.find(e.m.arena.Chunks(), key, entry) || e.deleted.find(key, entry)
}

// Peek returns the tree as it is now. It is valid until the next write, which changes it. Values
// that it returned stay valid until Rollback.
func (e *Edit) Peek() Root {
	arena := e.m.arena
	return Root{top: e.top, chunks: arena.Chunks(), deleted: e.deleted, expires: e.expires,
		written: e.written || e.m.root.written, places: arena.Places()}
}

// Root returns a snapshot with the writes so far. Later writes copy the nodes that they touch. The
// snapshot is valid forever if the edit commits, or else until Rollback.
func (e *Edit) Root() Root {
	e.owner = e.m.newOwner()
	return e.Peek()
}

// TakeFrames returns the log image of the writes since the last call, as [batch.Arena.Take] does.
// The image will lie in the log file at the offset at.
func (e *Edit) TakeFrames(at int64) [][]byte { return e.m.arena.Take(at) }

// Prepare returns memory that later writes will fill, or nil, as [batch.Arena.Prepare] does.
func (e *Edit) Prepare() []byte { return e.m.arena.Prepare() }

// Pending returns the payloads of the frames that TakeFrames would return, as
// [batch.Arena.Pending] does.
func (e *Edit) Pending() [][]byte { return e.m.arena.Pending() }

// Bytes returns about how much memory the memtable takes, with what the edit has written.
func (e *Edit) Bytes() int64 { return e.m.Bytes() }

// Commit makes the edit's tree the memtable's newest root and returns it.
func (e *Edit) Commit() Root {
	e.m.arena.Commit()
	e.m.root = e.Peek()
	return e.m.root
}

// Rollback frees the memory of everything that the edit wrote. It invalidates all roots taken from
// the edit.
func (e *Edit) Rollback() {
	e.m.arena.Rollback()
	e.m.nodes = e.nodes
}

// apply applies the entry that was appended last.
func (e *Edit) apply(ref batch.Ref) {
	e.written = true
	chunks := e.m.arena.Chunks()
	key := chunks.Key(ref)
	switch {
	case ref.Kind() == keyspace.KindDeleteRange:
		e.hide(keyspace.Span{Start: key, End: chunks.Value(ref)})
	case ref.Kind() == keyspace.KindDelete && e.bare(key):
		e.m.end = append(append(e.m.end[:0], key...), 0)
		e.cut(keyspace.Span{Start: key, End: e.m.end})
	default:
		e.expires = e.expires || ref.Expires()
		e.insert(key, ref)
	}
}

func (e *Edit) insert(key []byte, ref batch.Ref) {
	if e.top == (node{}) {
		e.top.leaf = newLeaf(e.owner, key, ref)
		e.m.nodes += leafBytes
		return
	}
	chunks := e.m.arena.Chunks()
	var p path
	l := e.descend(&p, chunks, key)
	k := head(key, int(l.prefix))
	i, found := l.search(chunks, key, k)
	if found {
		l.refs[i] = ref
		return
	}
	for _, s := range p.steps[:p.height] {
		s.inner.size++
	}
	if int(l.count) < e.m.leafMax {
		l.insert(i, k, ref)
		return
	}
	e.add(&p, chunks, node{leaf: e.split(chunks, l, i, key, ref)})
}

// descend returns the leaf that key belongs to, with the path to it in p. It makes all nodes on the
// path the edit's own and shortens their prefixes to what they share with key.
func (e *Edit) descend(p *path, chunks batch.Chunks, key []byte) *leaf {
	at, prefix := e.top, 0
	for at.inner != nil {
		n := e.enter(p, at.inner)
		prefix = max(prefix, int(n.prefix))
		i := n.route(chunks, key)
		p.push(n, i)
		at = n.kid(i)
	}
	// The path is right if key has the prefixes of all inner nodes on it. The leaf's prefix, which
	// is no shorter, shows that.
	shared := at.leaf.shared(chunks, key)
	if shared < prefix {
		at.leaf = e.descendSlowly(p, chunks, key)
		shared = at.leaf.shared(chunks, key)
	}
	l := e.ownLeaf(at.leaf)
	if l != at.leaf {
		e.replace(p, node{leaf: l})
	}
	if shared < int(l.prefix) {
		l.shorten(chunks, shared)
	}
	return l
}

// descendSlowly descends to the leaf that key, which lacks the prefix of an inner node on the path,
// belongs to.
func (e *Edit) descendSlowly(p *path, chunks batch.Chunks, key []byte) *leaf {
	at := e.top
	p.height = 0
	for at.inner != nil {
		n := e.enter(p, at.inner)
		n.fit(chunks, key)
		i := n.route(chunks, key)
		p.push(n, i)
		at = n.kid(i)
	}
	return at.leaf
}

// enter makes the node to which the path leads, n, the edit's own and returns it.
func (e *Edit) enter(p *path, n *inner) *inner {
	own := e.own(n)
	if own != n {
		e.replace(p, node{inner: own})
	}
	return own
}

// own returns n, or a copy if n is not the edit's own.
func (e *Edit) own(n *inner) *inner {
	if n.owner == e.owner {
		return n
	}
	own := *n
	own.owner = e.owner
	return &own
}

// ownLeaf is own for a leaf.
func (e *Edit) ownLeaf(l *leaf) *leaf {
	if l.owner == e.owner {
		return l
	}
	own := *l
	own.owner = e.owner
	return &own
}

// replace puts n where the path leads, which consists of the edit's own nodes.
func (e *Edit) replace(p *path, n node) {
	if p.height == 0 {
		e.top = n
		return
	}
	s := p.steps[p.height-1]
	s.inner.setKid(s.at, n)
}

// split splits the full leaf l, inserts an entry whose place is at index i, and returns the new
// leaf to the right of l. If keys ascend, it leaves l full instead of half full.
func (e *Edit) split(chunks batch.Chunks, l *leaf, i int, key []byte, ref batch.Ref) *leaf {
	e.m.nodes += leafBytes
	n := int(l.count)
	cut := n / 2
	if ascending := i > 0 && i == int(l.next); ascending {
		cut = i
	}
	if cut == n {
		l.lengthen(chunks) // it was shortened for key
		return newLeaf(e.owner, key, ref)
	}
	right := l.splitAt(chunks, cut)
	if i > cut {
		l, i = right, i-cut
	}
	l.shorten(chunks, l.shared(chunks, key))
	l.insert(i, head(key, int(l.prefix)), ref)
	return right
}

// add inserts kid to the right of the child that the path leads to, splitting nodes as needed. If
// keys ascend at the end of the tree, it leaves nodes full except for one child, not half full.
func (e *Edit) add(p *path, chunks batch.Chunks, kid node) {
	for p.height > 0 {
		p.height--
		n, i := p.steps[p.height].inner, p.steps[p.height].at+1
		if int(n.count) < e.m.innerMax {
			n.insert(chunks, i, kid)
			return
		}
		cut := int(n.count) / 2
		if i == int(n.count) && p.rightmost() {
			cut = i - 1
		}
		kid = node{inner: e.splitInner(chunks, n, cut, i, kid)}
	}
	e.top = node{inner: newInner(chunks, e.owner, e.top, kid)}
	e.m.nodes += innerBytes
}

// splitInner moves the children of the full node n from index cut on to a new node to its right,
// inserts a child whose place was at index i of n, and returns the new node.
func (e *Edit) splitInner(chunks batch.Chunks, n *inner, cut, i int, kid node) *inner {
	e.m.nodes += innerBytes
	right := n.splitAt(cut)
	if i > cut {
		right.insert(chunks, i-cut, kid)
		right.size += kid.size()
		n.size -= kid.size()
	} else {
		n.insert(chunks, i, kid)
	}
	n.lengthen(chunks)
	right.lengthen(chunks)
	return right
}
