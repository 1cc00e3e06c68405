// Package memtable is the copy-on-write B+tree that holds the newest writes in memory.
//
// A [Memtable] is an arena of encoded entries and a tree over them. For each entry, a leaf holds
// the key's head (the first 8 bytes after what all keys of the leaf start with) and a reference
// into the arena: a search compares integers within one node, and the garbage collector finds no
// pointers. Inner nodes hold heads and children. A deletion is an entry too, a tombstone, unless
// nothing older can have the key: then the entry is removed.
//
// A range deletion removes the entries in its range, whole subtrees at a time, and adds the range
// to a second tree, of spans: nothing older than the memtable counts for the keys in them. A long
// run of tombstones becomes a span when a reader comes across it; see [Edit.Clear].
//
// Each node belongs to the edit that made it. An [Edit] changes its own nodes in place and copies
// any other node on first touch, so every [Root] ever taken stays as it was, at the cost of the
// nodes copied since. Roots are immutable and safe for concurrent use, with each other and with an
// edit in progress. A [Cursor] belongs to one goroutine. Everything else belongs to the one writer.
//
// The package does not decide who may see a root or what has expired, writes nothing to disk, and
// does not merge with older data.
package memtable

import (
	"math/bits"

	"github.com/stoatdb/stoat/internal/batch"
)

// What a node takes in memory: its fields rounded up to the allocator's size class.
const (
	leafBytes  = 1408                              // no pointers in it
	innerBytes = 224*(bits.UintSize/32) + 64 + 448 // the node, nearly all pointers, and its heads
)

// Memtable is an arena and the newest committed tree over its entries. One writer at a time uses
// it.
type Memtable struct {
	arena *batch.Arena
	root  Root
	owner uint64 // the last one that was handed out
	nodes int64  // memory of the nodes and fragments of the newest tree, or of the edit's
	end   []byte // the key after the one that is being removed

	fragments uint64 // how many were made

	leafMax, innerMax int // the fan-out; smaller in tests, to make splits common
}

// New returns an empty memtable whose log frames start with headroom bytes for the log's use.
func New(headroom int) *Memtable {
	return newSized(batch.NewArena(headroom), fanout, innerFanout)
}

// newSized returns an empty memtable with an empty arena, at most leafMax entries per leaf (2 or
// more) and at most innerMax children per inner node (4 or more).
func newSized(arena *batch.Arena, leafMax, innerMax int) *Memtable {
	return &Memtable{arena: arena, leafMax: leafMax, innerMax: innerMax}
}

// Below is all that is older than a memtable.
type Below interface {
	// Absent reports whether certainly nothing below has the key, now and as long as the memtable
	// is written to.
	Absent(key []byte) bool
}

// Begin starts an edit on top of the newest committed root. There is one edit at a time: the
// previous one must have been committed or rolled back.
func (m *Memtable) Begin() *Edit { return m.BeginOver(nil) }

// BeginOver is Begin with knowledge of what lies below: deletions of absent keys leave no
// tombstones. With a nil below, nothing is known.
func (m *Memtable) BeginOver(below Below) *Edit {
	m.arena.Begin()
	return &Edit{m: m, owner: m.newOwner(), top: m.root.top, deleted: m.root.deleted,
		expires: m.root.expires, below: below, nodes: m.nodes}
}

// Bytes returns about how much memory the arena and the newest tree take, without nodes that only
// older roots reach. For the writer only.
func (m *Memtable) Bytes() int64 { return m.arena.Bytes() + m.nodes }

func (m *Memtable) newOwner() uint64 {
	m.owner++
	return m.owner
}
