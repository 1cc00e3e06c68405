package replica

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// Root returns a hash of the whole state of the space, in a canonical form: replicas that have the
// same entries have the same root. It reads all records, in the order of their keys.
func (s *Space) Root(tx *stoat.Tx) ([32]byte, error) {
	t, err := s.in(tx)
	if err != nil {
		return [32]byte{}, wrap(s.name, err)
	}
	subtrees, err := t.subtrees(nil)
	return chunk.Root(s.id, subtrees), wrap(s.name, err)
}

// CollectionRoot returns the part of the root that is about one collection, by which replicas that
// have some collections only compare them. It is zero if the collection has no records.
func (s *Space) CollectionRoot(tx *stoat.Tx, name string) ([32]byte, error) {
	t, err := s.in(tx)
	if err != nil {
		return [32]byte{}, wrap(s.name, err)
	}
	number, err := t.number(prefixCollection + name)
	if errors.Is(err, stoat.ErrNotFound) {
		return [32]byte{}, nil
	}
	if err != nil {
		return [32]byte{}, wrap(s.name, err)
	}
	subtree, err := t.subtree(name, number, nil)
	return subtree.Root, wrap(s.name, err)
}

// cutAt is called with each chunk of a state and its first key; nil stands for nothing to do.
type cutAt func(collection uint32, first, content []byte, leaf chunk.Hash) error

// subtrees returns the roots of all collections that have records.
func (t *txn) subtrees(at cutAt) (all []chunk.Subtree, err error) {
	prefix := []byte(prefixCollection)
	for key, p := range t.meta.Scan(stoat.Prefix(prefix)) {
		name := string(key[len(prefix):])
		if len(p) != 4 {
			return nil, fmt.Errorf("the number of collection %q: %w", name, stoat.ErrCorrupt)
		}
		subtree, err := t.subtree(name, binary.BigEndian.Uint32(p), at)
		if err != nil {
			return nil, err
		}
		if subtree.Chunks > 0 {
			all = append(all, subtree)
		}
	}
	return all, t.tx.Err()
}

// subtree returns the root of a collection. It has no chunks if the collection has no records.
func (t *txn) subtree(name string, number uint32, at cutAt) (chunk.Subtree, error) {
	var leaves chunk.Tree
	c := &chunk.Cutter{Emit: func(first, content []byte) error {
		leaf := chunk.Leaf(content)
		leaves = append(leaves, leaf)
		if at == nil {
			return nil
		}
		return at(number, first, content, leaf)
	}}
	o := &order{t: t}
	var canonical []byte
	err := t.eachState(name, number, func(s *state) error {
		if s.record.Empty() {
			return nil
		}
		canonical = s.record.Append(canonical[:0], o)
		return cmp.Or(o.err, c.Add(s.key, canonical))
	})
	if err == nil {
		err = c.Close()
	}
	subtree := chunk.Subtree{Collection: name, Chunks: uint64(len(leaves))}
	if err != nil {
		return subtree, fmt.Errorf("collection %q: %w", name, err)
	}
	if len(leaves) > 0 {
		subtree.Root = leaves.Root()
	}
	return subtree, nil
}

// eachState calls fn with the state of each record of a collection, in the order of keys.
func (t *txn) eachState(name string, number uint32, fn func(*state) error) error {
	c, err := t.reader(name, number)
	if err != nil {
		return err
	}
	prefix := keyed(nil, "", number)
	for key := range t.states.Scan(stoat.Prefix(prefix)) {
		s, err := t.loadStored(c, bytes.Clone(key[len(prefix):]))
		if err == nil {
			err = fn(s)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}
