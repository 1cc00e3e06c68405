package replica

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// A replay computes the states of records again: from their base, and from what counts now of all
// entries that touch them. It is needed when the verdicts of entries change.
//
// Records are marked first, and replayed when their transaction commits, each once. So a record
// always shows the verdicts that are stored with it, and a crash leaves nothing half done. A large
// replay makes a large transaction, which takes no more memory than a small one: the database
// writes it to tables while it runs, and records are replayed some at a time.

// replayEntries notes the verdicts of the entries of a log from one up to another one, except those
// that the horizon covers: they are settled. When the transaction commits, it replays the records
// that they touch.
func (t *txn) replayEntries(log uint32, from, to uint64) error {
	h, from, err := t.beyond(log, from)
	if err != nil {
		return err
	}
	for seq := from; seq < to; seq++ {
		e, changes, err := t.changesOf(log, seq)
		if err != nil {
			return err
		}
		if _, err := t.note(h, seq, e); err != nil {
			return err
		}
		for i, c := range changes {
			if err := t.mark(e.Parts[i].Group, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// replayBeyond is replayEntries for all entries that a horizon does not cover.
func (t *txn) replayBeyond(hz *horizon) error {
	all, err := t.allHeads()
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := t.replayEntries(h.number, hz.covers[h.number], h.next); err != nil {
			return err
		}
	}
	return nil
}

// mark replays the records of a collection that some changes touch when the transaction commits.
func (t *txn) mark(collection string, changes *entry.Changes) error {
	if err := t.markUnder(prefixReplay, collection, changes); err != nil {
		return err
	}
	return t.replayLater()
}

// replayLater replays the records that are marked when the transaction commits.
func (t *txn) replayLater() error {
	if t.replays {
		return nil
	}
	t.replays = true
	return t.tx.BeforeCommit(t.replay)
}

// markUnder stores the records of a collection that some changes touch under a prefix.
func (t *txn) markUnder(prefix, collection string, changes *entry.Changes) error {
	number, err := t.collectionNumber(collection)
	if err != nil {
		return err
	}
	for i := range changes.Records {
		t.key = append(keyed(t.key[:0], prefix, number), changes.Records[i].Key...)
		if err := t.meta.Put(t.key, nil); err != nil {
			return err
		}
	}
	return nil
}

// replay replays the records that are marked.
func (t *txn) replay() error {
	if t.pending != nil && t.pending.phase != phaseWritten {
		return t.tx.BeforeCommit(t.replay) // after the entry of the transaction is made
	}
	t.replays = false
	return wrap(t.space.name, t.replayMarked())
}

func (t *txn) replayMarked() error {
	if err := t.noteActs(); err != nil {
		return err
	}
	if err := t.eachMarked(nil, t.store); err != nil {
		return err
	}
	return t.meta.DeleteRange(stoat.Prefix([]byte(prefixReplay)))
}

// eachMarked computes the states of the records that are marked, from the entries that take part.
func (t *txn) eachMarked(
	counts func(merge.Stamp) bool,
	do func(c *collection, key []byte, record *merge.Record) error,
) error {
	fn := func(c *collection, key []byte, record *merge.Record) error {
		if err := do(c, key, record); err != nil {
			return fmt.Errorf("collection %q: %w", c.name, err)
		}
		return nil
	}
	if err := t.indexTails(); err != nil {
		return err
	}
	f := &fold{t: t, counts: counts}
	for key := range t.meta.Keys(stoat.Prefix([]byte(prefixReplay))) {
		key = key[len(prefixReplay):]
		number := binary.BigEndian.Uint32(key)
		if f.c == nil || f.c.number != number {
			if err := f.each(fn); err != nil {
				return err
			}
			name, err := t.collectionName(number)
			if err == nil {
				f.c, err = t.collection(name)
			}
			if err != nil {
				return err
			}
		}
		touches, err := t.indexed(number, key[4:])
		if err == nil {
			err = f.add(key[4:], touches)
		}
		if err == nil && f.full() {
			err = f.each(fn)
		}
		if err != nil {
			return err
		}
	}
	return cmp.Or(t.tx.Err(), f.each(fn))
}

// collectionName returns the name of a collection.
func (t *txn) collectionName(number uint32) (name string, err error) {
	name, ok := t.names[number]
	if !ok {
		name, ok = t.space.nameOf(number)
	}
	if !ok {
		if t.names, err = t.collectionNames(); err == nil && !t.assigned {
			committed := t.names // which is read again if a collection gets a number
			t.space.names.Store(&committed)
		}
		name, ok = t.names[number]
	}
	if err == nil && !ok {
		err = fmt.Errorf("no collection has the number %d: %w", number, stoat.ErrCorrupt)
	}
	return name, err
}

// nameOf returns the name of a collection, if it is among those that were last read.
func (s *Space) nameOf(number uint32) (name string, ok bool) {
	if known := s.names.Load(); known != nil {
		name, ok = (*known)[number]
	}
	return name, ok
}

// collectionNames returns the names of all collections by their numbers.
func (t *txn) collectionNames() (map[uint32]string, error) {
	names := map[uint32]string{}
	prefix := []byte(prefixCollection)
	for key, number := range t.meta.Scan(stoat.Prefix(prefix)) {
		if len(number) != 4 {
			return nil, fmt.Errorf("the number of collection %q: %w", key[len(prefix):], stoat.ErrCorrupt)
		}
		names[binary.BigEndian.Uint32(number)] = string(key[len(prefix):])
	}
	return names, t.tx.Err()
}

// store stores a record's state that was computed, with the record that shows it.
func (t *txn) store(c *collection, key []byte, record *merge.Record) error {
	s, err := t.loadStored(c, key)
	if err != nil {
		return err
	}
	s.record = record
	return s.show()
}

// project makes the records of a collection show their states.
func (t *txn) project(c *collection) error {
	show := func(key []byte) error {
		s, err := t.loadStored(c, bytes.Clone(key))
		if err == nil {
			err = s.show()
		}
		return err
	}
	prefix := keyed(nil, "", c.number)
	for key := range t.states.Scan(stoat.Prefix(prefix)) {
		if err := show(key[len(prefix):]); err != nil {
			return err
		}
	}
	records, err := t.recordsOf(c)
	if err != nil || records == nil {
		return cmp.Or(err, t.tx.Err())
	}
	for key := range records.Keys(stoat.Range{}) { // those whose states are gone
		has, err := t.states.Has(append(bytes.Clone(prefix), key...))
		if err == nil && !has {
			err = show(key)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}
