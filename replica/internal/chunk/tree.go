package chunk

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Leaf returns the hash of a chunk.
func Leaf(chunk []byte) (h Hash) {
	s := sha256.New()
	s.Write([]byte(domain))
	s.Write(chunk)
	s.Sum(h[:0])
	return h
}

// Salt returns the leaf of a salt, which comes before those of the chunks: whoever does not have it
// cannot check a guess of the state against the root.
func Salt(salt []byte) Hash { return sha256.Sum256(append([]byte(salted), salt...)) }

func node(left, right Hash) Hash {
	p := append(append([]byte(inner), left[:]...), right[:]...)
	return sha256.Sum256(p)
}

// Tree is the Merkle tree of a collection, given by its leaves: a salt, or none, and its chunks. It
// has at least one.
type Tree []Hash

// split returns the number of leaves in the left half of a tree: the greatest power of two below n,
// which is at least 2.
func split(n uint64) uint64 { return 1 << (bits.Len64(n-1) - 1) }

// Root returns the root of the tree.
func (t Tree) Root() Hash {
	if len(t) == 1 {
		return t[0]
	}
	k := split(uint64(len(t)))
	return node(t[:k].Root(), t[k:].Root())
}

// Proof returns the hashes with which leaf n is verified, from the bottom to the top.
func (t Tree) Proof(n int) []Hash {
	if len(t) == 1 {
		return nil
	}
	k := int(split(uint64(len(t))))
	if n < k {
		return append(t[:k].Proof(n), t[k:].Root())
	}
	return append(t[k:].Proof(n-k), t[:k].Root())
}

// Verify reports whether a leaf is number n of the tree of a subtree, by its proof.
func (s *Subtree) Verify(n uint64, leaf Hash, proof []Hash) bool {
	if n >= s.Leaves {
		return false
	}
	root, ok := climb(n, s.Leaves, leaf, proof)
	return ok && root == s.Root
}

// climb returns the root of a tree of count leaves with a leaf at n.
func climb(n, count uint64, leaf Hash, proof []Hash) (root Hash, ok bool) {
	if count == 1 {
		return leaf, len(proof) == 0
	}
	if len(proof) == 0 {
		return root, false
	}
	below, last := proof[:len(proof)-1], proof[len(proof)-1]
	if k := split(count); n < k {
		root, ok = climb(n, k, leaf, below)
		return node(root, last), ok
	} else {
		root, ok = climb(n-k, count-k, leaf, below)
		return node(last, root), ok
	}
}

// Subtree is the root of a collection.
type Subtree struct {
	Collection string
	Leaves     uint64 // at least 1: of a salt, if there is one, and of chunks
	Root       Hash
}

// Append appends a list of subtrees, which must be sorted by collection.
func Append(dst []byte, all []Subtree) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for i := range all {
		dst = wire.AppendBytes(dst, all[i].Collection)
		dst = append(binary.AppendUvarint(dst, all[i].Leaves), all[i].Root[:]...)
	}
	return dst
}

// Take reads what Append appended.
func Take(r *wire.Reader) []Subtree {
	all := make([]Subtree, r.Count(1<<20, 34))
	for i := range all {
		all[i] = Subtree{string(r.Bytes(0, 255)), r.Uvarint(), r.Hash()}
		if i > 0 && all[i].Collection <= all[i-1].Collection {
			r.Fail("the collections are not sorted")
		}
		if all[i].Leaves == 0 || all[i].Leaves > countMax {
			r.Fail("a collection of %d chunks", all[i].Leaves)
		}
	}
	return all
}

// Root returns the root of the state of a space: the hash of the list of its subtrees.
func Root(space Hash, all []Subtree) Hash {
	return sha256.Sum256(Append(append([]byte(whole), space[:]...), all))
}
