package memtable

import (
	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Cursor walks the entries of a [Root] in key order, in both directions, tombstones included. It
// must be initialised with Init. Moving past either end leaves it on no entry: it has to be
// positioned again. Keys and values alias the memtable and must not be modified. No method
// allocates. Not safe for concurrent use; a copy is an independent cursor.
type Cursor struct {
	i, n    int // index in the leaf, and its number of entries; both 0 if leaf is nil
	leaf    *leaf
	chunks  batch.Chunks
	places  *batch.Places
	expires bool // some entries may expire
	top     node
	path    path
}

// Init makes c a cursor over r that is on no entry.
func (c *Cursor) Init(r Root) {
	c.chunks, c.top, c.expires, c.places = r.chunks, r.top, r.expires, r.places
	c.leave()
}

// First moves to the first entry and reports whether there is one.
func (c *Cursor) First() bool {
	c.path.height = 0
	return c.enter(c.top, keyspace.Forward)
}

// Last moves to the last entry and reports whether there is one.
func (c *Cursor) Last() bool {
	c.path.height = 0
	return c.enter(c.top, keyspace.Reverse)
}

// Seek moves to the first entry whose key is not below key and reports whether there is one.
func (c *Cursor) Seek(key []byte) bool {
	c.seek(key)
	if c.i < c.n {
		return true
	}
	return c.leafBeyond(keyspace.Forward)
}

// SeekBefore moves to the last entry whose key is below key and reports whether there is one.
func (c *Cursor) SeekBefore(key []byte) bool {
	c.seek(key)
	return c.Prev()
}

// Next moves to the next entry and reports whether there is one.
func (c *Cursor) Next() bool {
	if i := c.i + 1; i < c.n {
		c.i = i
		return true
	}
	return c.leafBeyond(keyspace.Forward)
}

// Prev moves to the previous entry and reports whether there is one.
func (c *Cursor) Prev() bool {
	if c.i > 0 {
		c.i--
		return true
	}
	return c.leafBeyond(keyspace.Reverse)
}

// Valid reports whether the cursor is on an entry. The other accessors require that it is.
func (c *Cursor) Valid() bool { return c.leaf != nil }

// Key returns the current entry's key.
func (c *Cursor) Key() []byte { return c.chunks.Key(c.leaf.refs[c.i]) }

// Value returns the current entry's value. An empty value is not nil.
func (c *Cursor) Value() []byte { return c.chunks.Value(c.leaf.refs[c.i]) }

// Until returns when the current entry expires, in milliseconds since 1970, or 0 if never.
func (c *Cursor) Until() uint64 { return c.chunks.Until(c.leaf.refs[c.i]) }

// Kind returns the current entry's kind.
func (c *Cursor) Kind() keyspace.Kind { return c.leaf.refs[c.i].Kind() }

// Plain reports whether every entry of the root, wherever the cursor is, is a tombstone or a put
// that does not expire.
func (c *Cursor) Plain() bool { return !c.expires }

// LogOffset returns the offset of the current entry's value in the log file. ok is false if the
// entry's frame was never taken. The memtable must not be written to any more.
func (c *Cursor) LogOffset() (offset int64, ok bool) { return c.places.Value(c.leaf.refs[c.i]) }

// Smallest returns the first key of the root, which must have entries.
func (c *Cursor) Smallest() []byte { return c.top.smallest(c.chunks) }

// Largest returns the last key of the root, which must have entries.
func (c *Cursor) Largest() []byte { return c.top.largest(c.chunks) }

// Ahead returns how many entries of the leaf lie beyond the current one in direction d.
func (c *Cursor) Ahead(d keyspace.Direction) int {
	if d == keyspace.Reverse {
		return c.i
	}
	return c.n - 1 - c.i
}

// KeyAhead returns the key n entries ahead in the leaf, in direction d. There must be one.
func (c *Cursor) KeyAhead(n int, d keyspace.Direction) []byte {
	if d == keyspace.Reverse {
		n = -n
	}
	return c.chunks.Key(c.leaf.refs[c.i+n])
}

// Touch reads a byte of each key and value of the current leaf, so that the processor loads many of
// them at the same time. A caller that reads one after the other waits for memory at each. The
// result means nothing; with it, and out of line, the reads are not optimized away.
//
//go:noinline
func (c *Cursor) Touch() (sum byte) {
	for _, ref := range c.leaf.refs[:c.n] {
		key, value := c.chunks.Tail(ref, 0)
		sum += key[0]
		if n := len(value); n > 0 {
			sum += value[n-1]
		}
	}
	return sum
}

func (c *Cursor) leave() bool {
	c.leaf, c.i, c.n = nil, 0, 0
	return false
}

// enter moves to the entry below n that comes first in direction d. The path must lead to n.
func (c *Cursor) enter(n node, d keyspace.Direction) bool {
	for n.inner != nil {
		i := 0
		if d == keyspace.Reverse {
			i = int(n.inner.count) - 1
		}
		c.path.push(n.inner, i)
		n = n.inner.kid(i)
	}
	if n.leaf == nil {
		return c.leave()
	}
	c.leaf, c.i, c.n = n.leaf, 0, int(n.leaf.count)
	if d == keyspace.Reverse {
		c.i = c.n - 1
	}
	return true
}

// leafBeyond moves to the next leaf in direction d.
func (c *Cursor) leafBeyond(d keyspace.Direction) bool {
	by := 1
	if d == keyspace.Reverse {
		by = -1
	}
	for ; c.leaf != nil && c.path.height > 0; c.path.height-- {
		s := &c.path.steps[c.path.height-1]
		if at := s.at + by; at >= 0 && at < int(s.inner.count) {
			s.at = at
			return c.enter(s.inner.kid(at), d)
		}
	}
	return c.leave()
}

// seek moves to the leaf that key belongs to and to the first entry in it whose key is not below
// key, or past the last entry.
func (c *Cursor) seek(key []byte) {
	c.path.height = 0
	at, prefix := c.top, 0
	for at.inner != nil {
		prefix = max(prefix, int(at.inner.prefix))
		i := at.inner.route(c.chunks, key)
		c.path.push(at.inner, i)
		at = at.inner.kid(i)
	}
	if at.leaf == nil {
		c.leave()
		return
	}
	// As in Edit.descend, the path is right if key has all prefixes on it.
	if at.leaf.shared(c.chunks, key) < prefix {
		at = c.seekSlowly(key)
	}
	c.leaf, c.i, c.n = at.leaf, at.leaf.seek(c.chunks, key), int(at.leaf.count)
}

// seekSlowly finds the leaf that key belongs to, which lacks the prefix of a node on its path.
func (c *Cursor) seekSlowly(key []byte) node {
	c.path.height = 0
	at := c.top
	for at.inner != nil {
		i := at.inner.seek(c.chunks, key)
		c.path.push(at.inner, i)
		at = at.inner.kid(i)
	}
	return at
}

// Walk calls yield for the current entry and the n beyond it in direction d, all of which must be
// in the same leaf. It skips tombstones and cuts the first strip bytes off each key. It ends on the
// last entry, or on the one for which yield returned false, and returns how often it called yield
// and whether yield wants more. The cursor must be Plain.
func (c *Cursor) Walk(
	n int, d keyspace.Direction, strip int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	if d == keyspace.Reverse {
		return c.walkBack(n, strip, yield)
	}
	chunks, refs, hidden := c.chunks, c.leaf.refs[c.i:c.i+n+1], 0
	for k := range refs {
		if refs[k].Kind() != keyspace.KindPut {
			hidden++
		} else if !yield(chunks.Tail(refs[k], strip)) {
			c.i += k
			return k + 1 - hidden, false
		}
	}
	c.i += n
	return n + 1 - hidden, true
}

// walkBack is Walk in reverse.
func (c *Cursor) walkBack(
	n, strip int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	chunks, refs, hidden := c.chunks, c.leaf.refs[c.i-n:c.i+1], 0
	c.i -= n
	for k := n; k >= 0; k-- {
		if refs[k].Kind() != keyspace.KindPut {
			hidden++
		} else if !yield(chunks.Tail(refs[k], strip)) {
			c.i += k
			return n + 1 - k - hidden, false
		}
	}
	return n + 1 - hidden, true
}
