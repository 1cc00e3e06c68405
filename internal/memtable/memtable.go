// Package memtable is the copy-on-write B+tree that holds the newest writes in memory.
//
// A [Memtable] is an arena of encoded entries and a tree over them. Leaves hold, for each entry,
// its key's head (the first 8 bytes after what all keys of the leaf start with) and a reference
// into the arena: no pointers, so that a search compares integers within one node and the garbage
// collector does not look inside. Inner nodes hold heads and children. A deletion is an entry too,
// a tombstone, which replaces that of the key; unless nothing older can have the key: then the
// entry is removed, and nothing comes in its place.
//
// A range deletion is no entry. It removes those in its range, whole subtrees at a time, so that
// its cost does not depend on how many they are, and adds the range to a tree of spans beside: the
// keys that older runs have nothing to say about. A long run of tombstones is made one when
// somebody comes across it, as [Edit.Clear] says, so that it is passed at once.
//
// Each node belongs to the edit that made it. An [Edit] changes its own nodes in place and copies
// any other on first touch, so that every [Root] ever taken stays as it was: a Root is a snapshot,
// and what it costs is the nodes that were copied since. The trees of spans are copied likewise, by
// the node. Roots are immutable and safe for concurrent use, with each other and with an edit under
// way; a [Cursor] belongs to one goroutine; everything else belongs to the one writer.
//
// The package does not decide who may see a root or what has expired, write anything to disk, or
// merge it with older data.
package memtable

import (
	"math/bits"

	"github.com/stoatdb/stoat/internal/batch"
)

// What a node takes in memory: its fields rounded up to the allocator's size class.
const (
	leafBytes  = 1408                         // no pointers in it
	innerBytes = 512*(bits.UintSize/32) + 448 // the node, nearly all pointers, and its heads
)

// Memtable is an arena and the newest committed tree over its entries. One writer at a time uses
// it.
type Memtable struct {
	arena *batch.Arena
	root  Root
	owner uint64 // the last owner handed out
	nodes int64  // memory of the newest tree's nodes and fragments, of an edit's under way if any
	end   []byte // the key behind the one that is being removed

	fragments uint64 // so many were made

	leafMax, innerMax int // the fan-out; less in tests, to make splits common
}

// New returns an empty memtable whose log frames start with headroom bytes for the log's use.
func New(headroom int) *Memtable {
	return newSized(batch.NewArena(headroom), fanout, innerFanout)
}

// newSized returns an empty memtable with an empty arena, at most leafMax entries a leaf (2 or
// more) and innerMax children an inner node (4 or more).
func newSized(arena *batch.Arena, leafMax, innerMax int) *Memtable {
	return &Memtable{arena: arena, leafMax: leafMax, innerMax: innerMax}
}

// Below is all that is older than a memtable.
type Below interface {
	// Absent reports whether surely no key of it is the given one, now and as long as the memtable
	// is written to.
	Absent(key []byte) bool
}

// Begin starts an edit on top of the newest committed root. There is one edit at a time: the one
// before must have been committed or rolled back.
func (m *Memtable) Begin() *Edit { return m.BeginOver(nil) }

// BeginOver is Begin where it is known what lies below, so that deletions of what is not there
// leave no tombstones. A nil below is not known.
func (m *Memtable) BeginOver(below Below) *Edit {
	m.arena.Begin()
	return &Edit{m: m, owner: m.newOwner(), top: m.root.top, deleted: m.root.deleted,
		expires: m.root.expires, below: below, nodes: m.nodes}
}

// Bytes returns about how much memory the arena and the newest tree hold. Nodes that only older
// roots reach are not counted. For the writer only.
func (m *Memtable) Bytes() int64 { return m.arena.Bytes() + m.nodes }

func (m *Memtable) newOwner() uint64 {
	m.owner++
	return m.owner
}
