package replica

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

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
// writes it to tables while it runs, and records are replayed in batches.

// replayEntries replays, when the transaction commits, the records that the entries of a log from
// one up to another one touch.
func (t *txn) replayEntries(log uint32, from, to uint64) error {
	for seq := from; seq < to; seq++ {
		e, changes, err := t.changesOf(log, seq)
		if err != nil {
			return err
		}
		for i, c := range changes {
			number, err := t.collectionNumber(e.Parts[i].Group)
			if err != nil {
				return err
			}
			for j := range c.Records {
				t.key = append(keyed(t.key[:0], prefixReplay, number), c.Records[j].Key...)
				if err := t.meta.Put(t.key, nil); err != nil {
					return err
				}
			}
		}
	}
	if t.replays {
		return nil
	}
	t.replays = true
	return t.tx.BeforeCommit(t.replay)
}

// replay replays the records that are marked.
func (t *txn) replay() error {
	if t.pending != nil && t.pending.stage != stageWritten {
		return t.tx.BeforeCommit(t.replay) // after the entry of the transaction is made
	}
	t.replays = false
	return wrap(t.space.name, t.replayMarked())
}

func (t *txn) replayMarked() error {
	if err := t.indexTails(); err != nil {
		return err
	}
	names, err := t.collectionNames()
	if err != nil {
		return err
	}
	marked := stoat.Prefix([]byte(prefixReplay))
	b := &batch{t: t}
	for key := range t.meta.Keys(marked) {
		key = key[len(prefixReplay):]
		number := binary.BigEndian.Uint32(key)
		if b.c == nil || b.c.number != number || b.full() {
			if err := b.replay(); err != nil {
				return err
			}
			c := b.c
			if c == nil || c.number != number {
				if c, err = t.collection(names[number]); err != nil {
					return err
				}
			}
			b = &batch{t: t, c: c}
		}
		if err := b.add(key[4:]); err != nil {
			return err
		}
	}
	if err := cmp.Or(t.tx.Err(), b.replay()); err != nil {
		return err
	}
	return t.meta.DeleteRange(marked)
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

// Limits of a batch, which bound its memory unless a single record exceeds them. A batch reads an
// entry once, however many of its records the entry touches.
const (
	batchRecords = 1 << 12
	batchTouches = 1 << 16
)

// batch is records of a collection that are replayed together.
type batch struct {
	t       *txn
	c       *collection
	keys    [][]byte
	records map[string]*replayed
	touches []spot // by any of the records, with duplicates
}

// replayed is a record in a batch.
type replayed struct {
	record *merge.Record
	covers vector // the entries that its base covers
}

// full reports whether the batch should be replayed before more records are added.
func (b *batch) full() bool {
	return len(b.keys) >= batchRecords || len(b.touches) >= batchTouches
}

// add adds a record.
func (b *batch) add(key []byte) error {
	record, covers, err := b.t.base(b.c, key)
	if err != nil {
		return err
	}
	if b.records == nil {
		b.records = map[string]*replayed{}
	}
	b.keys = append(b.keys, key)
	b.records[string(key)] = &replayed{record, covers}
	before := len(b.touches)
	if b.touches, err = b.t.touching(b.touches, b.c.number, key); err != nil {
		return err
	}
	added := slices.DeleteFunc(b.touches[before:], func(s spot) bool { return covers[s.log] > s.seq })
	b.touches = b.touches[:before+len(added)]
	return nil
}

// base returns the state of a record from which it is replayed, and which entries that state
// covers. All others are available.
func (t *txn) base(*collection, []byte) (*merge.Record, vector, error) {
	return &merge.Record{}, nil, nil
}

// replay replays the records and stores them.
func (b *batch) replay() error {
	if len(b.keys) == 0 {
		return nil
	}
	touches, err := b.t.byTime(b.touches)
	if err != nil {
		return err
	}
	for _, at := range touches {
		if err := b.apply(at); err != nil {
			return fmt.Errorf("replay entry %d of log %d: %w", at.Seq, at.Log, err)
		}
	}
	for _, key := range b.keys {
		s, err := b.t.loadStored(b.c, key)
		if err == nil {
			s.record = b.records[string(key)].record
			err = s.show()
		}
		if err != nil {
			return fmt.Errorf("collection %q: %w", b.c.name, err)
		}
	}
	return nil
}

// byTime returns the stamps of entries in the order of time, without duplicates. No entry comes
// before one that happened before it.
func (t *txn) byTime(spots []spot) ([]merge.Stamp, error) {
	slices.SortFunc(spots, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.seq, b.seq))
	})
	spots = slices.Compact(spots)
	stamps := make([]merge.Stamp, len(spots))
	for i, at := range spots {
		_, stored, err := t.entry(at.log, at.seq)
		if err != nil {
			return nil, err
		}
		e, err := entry.ParseHead(stored)
		if err != nil {
			return nil, err
		}
		stamps[i] = merge.Stamp{Time: e.Time, Log: at.log, Seq: at.seq}
	}
	o := &order{t: t}
	slices.SortFunc(stamps, func(a, b merge.Stamp) int {
		if a.Time != b.Time || a.Log == b.Log {
			return cmp.Compare(a.Time, b.Time)
		}
		x, y := o.ID(a.Log), o.ID(b.Log)
		return bytes.Compare(x[:], y[:])
	})
	return stamps, o.err
}

// apply merges what counts of an entry into the records of the batch.
func (b *batch) apply(at merge.Stamp) error {
	e, changes, err := b.t.changesOf(at.Log, at.Seq)
	if err != nil {
		return err
	}
	h, err := b.t.head(at.Log)
	if err != nil {
		return err
	}
	void, _, err := b.t.verdict(h, at.Seq, e)
	if err != nil {
		return err
	}
	o := &order{t: b.t, at: spot{at.Log, at.Seq}}
	for i, c := range changes {
		if e.Parts[i].Group != b.c.name || void.has(i) {
			continue
		}
		for j := range c.Records {
			r := b.records[string(c.Records[j].Key)]
			if r != nil && r.covers[at.Log] <= at.Seq {
				r.record.Apply(&c.Records[j], c.Fields, at, o)
			}
		}
	}
	return o.err
}
