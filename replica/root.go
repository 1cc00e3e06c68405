package replica

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// Root returns a hash of the whole state of the space, in a canonical form: replicas that have the
// same entries have the same root. It reads all records, in the order of their keys. A replica that
// lacks content has no root, which is [ErrNotHeld]; see [Space.CollectionRoot]. Whoever knows the
// root can check a guess of the state: give it to those only who may read the space.
func (s *Space) Root(tx *stoat.Tx) ([32]byte, error) {
	t, err := s.in(tx)
	if err != nil {
		return [32]byte{}, wrap(s.name, err)
	}
	if err := t.wholeSpace(); err != nil {
		return [32]byte{}, wrap(s.name, err)
	}
	subtrees, err := t.subtrees()
	return chunk.Root(s.id, subtrees), wrap(s.name, err)
}

// CollectionRoot returns the part of the root that is about one collection, by which replicas that
// have some collections only compare them. It is zero if the collection has no records.
func (s *Space) CollectionRoot(tx *stoat.Tx, name string) ([32]byte, error) {
	t, err := s.in(tx)
	if err != nil {
		return [32]byte{}, wrap(s.name, err)
	}
	if err := t.whole(name); err != nil {
		return [32]byte{}, wrap(s.name, err)
	}
	number, err := t.number(prefixCollection + name)
	if missing(err) {
		return [32]byte{}, nil
	}
	if err != nil {
		return [32]byte{}, wrap(s.name, err)
	}
	all, err := addSubtree(nil, name, nil, t.canonical(name, number), nil)
	if err != nil || len(all) == 0 {
		return [32]byte{}, wrap(s.name, err)
	}
	return all[0].Root, nil
}

// onChunk is called with each chunk of a state and its first key, and before with the leaf of a
// salt alone; nil stands for nothing to do.
type onChunk func(name string, first, content []byte, leaf chunk.Hash) error

// records calls a function with each record of a collection and its canonical state, by key.
type records func(fn func(key, canonical []byte) error) error

// subtrees returns the roots of all collections that have records.
func (t *txn) subtrees() (all []chunk.Subtree, err error) {
	prefix := []byte(prefixCollection)
	for key := range t.meta.Scan(stoat.Prefix(prefix)) {
		name := string(key[len(prefix):])
		number, err := t.number(prefixCollection + name)
		if err != nil {
			return nil, err
		}
		if all, err = addSubtree(all, name, nil, t.canonical(name, number), nil); err != nil {
			return nil, err
		}
	}
	return all, t.tx.Err()
}

// canonical returns the records of a collection with their present states.
func (t *txn) canonical(name string, number uint32) records {
	return func(fn func(key, canonical []byte) error) error {
		o := &order{t: t}
		var canonical []byte
		return t.eachState(name, number, stoat.Range{}, func(s *state) error {
			if s.record.Empty() {
				return nil
			}
			canonical = s.record.Append(canonical[:0], o)
			return cmp.Or(o.err, fn(s.key, canonical))
		})
	}
}

// addSubtree appends the root of a collection, with a salt unless that is nil, if it has records.
func addSubtree(
	all []chunk.Subtree, name string, salt []byte, each records, on onChunk,
) ([]chunk.Subtree, error) {
	var leaves chunk.Tree
	add := func(first, content []byte, leaf chunk.Hash) error {
		leaves = append(leaves, leaf)
		if on == nil {
			return nil
		}
		return on(name, first, content, leaf)
	}
	c := &chunk.Cutter{Emit: func(first, content []byte) error {
		if len(leaves) == 0 && salt != nil {
			if err := add(nil, nil, chunk.Salt(salt)); err != nil {
				return err
			}
		}
		return add(first, content, chunk.Leaf(content))
	}}
	err := each(c.Add)
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("collection %q: %w", name, err)
	}
	if len(leaves) == 0 {
		return all, nil
	}
	return append(all, chunk.Subtree{Collection: name, Leaves: uint64(len(leaves)),
		Root: leaves.Root()}), nil
}

// eachState calls fn with the state of each record of a collection with a key in a range, in the
// order of keys. A state is borrowed: it is valid until fn returns.
func (t *txn) eachState(
	name string, number uint32, within stoat.Range, fn func(*state) error,
) error {
	c, err := t.reader(name, number)
	if err != nil {
		return err
	}
	prefix := keyed(nil, "", number)
	all := stoat.Prefix(prefix)
	all.Start = append(bytes.Clone(prefix), within.Start...)
	if within.End != nil {
		all.End = append(bytes.Clone(prefix), within.End...)
	}
	defer t.release()
	for key, sidecar := range t.states.Scan(all) {
		t.working().rewind()
		stored, err := t.find(c, key[len(prefix):])
		var s *state
		if err == nil {
			s, err = t.blank(c, key[len(prefix):], stored)
		}
		if err == nil {
			err = s.parse(sidecar)
		}
		if err == nil {
			err = fn(s)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}
