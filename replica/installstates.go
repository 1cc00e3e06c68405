package replica

import (
	"bytes"
	"cmp"
	"iter"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/merge"
	"github.com/stoatdb/stoat/replica/internal/value"
)

// replaceStates makes the states of all collections those of the checkpoint. Those that are not
// taken are unfilled, and have none.
func (in *installation) replaceStates() error {
	t := in.t
	bases, err := t.bases()
	if err == nil {
		err = bases.DeleteRange(stoat.Range{})
	}
	if err != nil {
		return err
	}
	names, err := t.collectionNames()
	if err != nil {
		return err
	}
	for i := 1; i < len(in.trees); i++ {
		number, err := in.place(in.act.Chunks[i].Collection, i)
		if err != nil {
			return err
		}
		delete(names, number)
	}
	for _, name := range names { // these are empty at the checkpoint
		if _, err := in.place(name, 0); err != nil {
			return err
		}
	}
	return nil
}

// place makes the states of a collection those of a subtree; 0 stands for none.
func (in *installation) place(name string, tree int) (number uint32, err error) {
	t := in.t
	lacks, err := t.lacks()
	if err == nil {
		number, err = t.collectionNumber(name)
	}
	if err != nil {
		return 0, err
	}
	if _, lacking := lacks[name]; tree > 0 && len(in.trees[tree]) == 0 {
		err, tree = t.setUnfilled(name, number), 0
	} else if lacking {
		err = t.setLacking(name, number, true)
	}
	if err != nil {
		return 0, err
	}
	c, err := t.collection(name)
	if err == nil {
		err = in.replaceCollection(c, tree)
	}
	return number, err
}

// replaceCollection makes the states of a collection those of a subtree; without one, there are
// none.
func (in *installation) replaceCollection(c *collection, tree int) error {
	t := in.t
	prefix := keyed(nil, "", c.number)
	next, stop := iter.Pull(t.states.Keys(stoat.Prefix(prefix)))
	defer stop()
	old, has := next()
	drop := func(before []byte) (same bool, err error) { // the states up to a key
		for has && err == nil {
			order := -1
			if before != nil {
				order = bytes.Compare(old[len(prefix):], before)
			}
			if order > 0 {
				break
			}
			same = order == 0
			if !same {
				err = t.store(c, bytes.Clone(old[len(prefix):]), &merge.Record{})
			}
			old, has = next()
		}
		return same, err
	}
	if tree == 0 {
		_, err := drop(nil)
		return cmp.Or(err, t.tx.Err())
	}
	defer t.release()
	stored, err := t.anyRecord(c)
	if err != nil {
		return err
	}
	err = in.each(t, tree, func(r *chunk.Record) error {
		if !value.IsTuple(r.Key) {
			return invalid("a record of %q has a key that is not a tuple", c.name)
		}
		same, err := drop(r.Key)
		switch {
		case err != nil:
			return err
		case same:
			return t.replace(c, r)
		}
		return t.create(c, r, stored)
	})
	if err == nil {
		_, err = drop(nil)
	}
	return cmp.Or(err, t.tx.Err())
}

// replace stores the state of a record that has another one, with the record that shows it.
func (t *txn) replace(c *collection, r *chunk.Record) error {
	record := &merge.Record{}
	if err := record.ParseNormal(r.State); err != nil {
		return invalid("the state of a record of %q: %w", c.name, err)
	}
	return t.store(c, r.Key, record)
}

// anyRecord reports whether a collection has records, with a state or without one.
func (t *txn) anyRecord(c *collection) (bool, error) {
	if err := t.mergeDeferred(); err != nil {
		return false, err
	}
	b, err := t.recordsOf(c)
	if err != nil || b == nil {
		return false, err
	}
	for range b.Keys(stoat.Range{Limit: 1}) {
		return true, nil
	}
	return false, t.tx.Err()
}

// create stores the state of a record that has none, with the record that shows it. Among says that
// the collection had records before, one of which may have the key.
func (t *txn) create(c *collection, r *chunk.Record, among bool) error {
	var stored []byte
	if among {
		var err error
		if stored, err = t.find(c, r.Key); err != nil {
			return err
		}
	}
	t.working().rewind()
	s, err := t.blank(c, r.Key, stored)
	if err != nil {
		return err
	}
	if err := s.record.ParseNormal(r.State); err != nil {
		return invalid("the state of a record of %q: %w", c.name, err)
	}
	return s.show()
}
