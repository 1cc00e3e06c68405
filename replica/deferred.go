package replica

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// deferred is what entries do to records that the transaction has stored and not merged yet. It is
// merged by record: the state of each is read, stored and shown once, and changed in memory by all
// entries. So the cost of a transaction follows the size of what it merges and of the states that
// change, and not their product.
//
// What reads states, or changes what happened before what, or whether a collection can be shown,
// calls txn.mergeDeferred first.
type deferred struct {
	changes []deferredChange // in the order in which entries were merged
	size    int              // of the memory that they take, about
}

// deferredChange is what an entry does to a record.
type deferredChange struct {
	of     *entry.Changes
	record int // of them
	order  int // among what is deferred
	c      *collection
	at     merge.Stamp
}

// deferredMax is how much memory changes take before they are merged, about. The state of a record
// that many entries change is stored once for so much of them.
const deferredMax = 8 << 20

func (d *deferredChange) change() *entry.Record { return &d.of.Records[d.record] }

// compareRecords orders changes by record.
func (d *deferredChange) compareRecords(e *deferredChange) int {
	if c := cmp.Compare(d.c.number, e.c.number); c != 0 {
		return c
	}
	return bytes.Compare(d.change().Key, e.change().Key)
}

// deferPart merges the changes of a part of an entry later in the transaction. It keeps them.
func (t *txn) deferPart(part *entry.Part, changes *entry.Changes, at merge.Stamp) error {
	number, err := t.collectionNumber(part.Group)
	if err != nil {
		return err
	}
	in := t.inside(number)
	if in.merging == nil {
		if in.merging, err = t.collection(part.Group); err != nil {
			return err
		}
	}
	d := &t.deferred
	for i := range changes.Records {
		d.changes = append(d.changes,
			deferredChange{of: changes, record: i, order: len(d.changes), c: in.merging, at: at})
	}
	if d.size += len(part.Data) + changes.Memory(); d.size < t.space.deferredMax {
		return nil
	}
	return t.mergeDeferred()
}

// mergeDeferred merges what is deferred.
func (t *txn) mergeDeferred() error {
	all := t.deferred.changes
	if len(all) == 0 {
		return nil
	}
	t.deferred = deferred{}
	for _, in := range t.collected.all {
		in.merging = nil
	}
	slices.SortFunc(all, func(a, b deferredChange) int {
		if c := a.compareRecords(&b); c != 0 {
			return c
		}
		return cmp.Compare(a.order, b.order)
	})
	o := &order{}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].compareRecords(&all[0]) == 0 {
			n++
		}
		if err := t.mergeRecord(all[:n], o); err != nil {
			return fmt.Errorf("collection %q: %w", all[0].c.name, err)
		}
		all = all[n:]
	}
	return nil
}

// mergeRecord merges changes of one record. The order is memory.
func (t *txn) mergeRecord(changes []deferredChange, o *order) error {
	c, key := changes[0].c, changes[0].change().Key
	stored, err := t.storedRecord(c, key)
	if err != nil {
		return err
	}
	t.working().rewind()
	s, err := t.borrow(c, key, stored)
	if err == nil {
		err = s.keepBase()
	}
	if err != nil {
		return err
	}
	if len(changes) > 1 {
		s.record.Begin()
	}
	for i := range changes {
		d := &changes[i]
		*o = order{t: t, at: spot{d.at.Log, d.at.Seq}}
		if s.record.Apply(d.change(), d.of.Fields, d.at, o); o.err != nil {
			return o.err
		}
	}
	if len(changes) > 1 {
		s.record.End()
	}
	return s.show()
}
