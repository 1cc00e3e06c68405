package replica

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/merge"
)

// Limits of a batch, which bound its memory unless a single record exceeds them. A batch reads an
// entry once, however many of its records the entry touches.
const (
	batchRecords = 1 << 12
	batchTouches = 1 << 16
)

// batch computes the states of records of a collection from the entries that touch them.
type batch struct {
	t       *txn
	c       *collection
	counts  func(merge.Stamp) bool // whether an entry takes part; nil: all do
	whole   bool                   // from the first entry on, and not from the checkpoint
	keys    [][]byte
	records map[string]*replayed
	touches []spot // by any of the records, with duplicates
}

// replayed is a record in a batch.
type replayed struct {
	record *merge.Record
	covers vector // the entries that its base covers
}

// full reports whether the states should be computed before more records are added.
func (b *batch) full() bool {
	return len(b.keys) >= batchRecords || len(b.touches) >= batchTouches
}

// add adds a record with the entries that touch it. It keeps the key.
func (b *batch) add(key []byte, touches []spot) error {
	record, covers := &merge.Record{}, vector(nil)
	if !b.whole {
		var err error
		if record, covers, err = b.t.base(b.c, key); err != nil {
			return err
		}
	}
	if b.records == nil {
		b.records = map[string]*replayed{}
	}
	b.keys = append(b.keys, key)
	b.records[string(key)] = &replayed{record, covers}
	for _, at := range touches {
		if covers[at.log] <= at.seq {
			b.touches = append(b.touches, at)
		}
	}
	return nil
}

// each computes the states, calls fn with each, and empties the batch. The record is fn's.
func (b *batch) each(fn func(c *collection, key []byte, record *merge.Record) error) error {
	stamps, err := b.t.byTime(b.touches)
	if err != nil {
		return err
	}
	for _, at := range stamps {
		if b.counts != nil && !b.counts(at) {
			continue
		}
		if err := b.apply(at); err != nil {
			return fmt.Errorf("entry %d of log %d: %w", at.Seq, at.Log, err)
		}
	}
	for _, key := range b.keys {
		if err := fn(b.c, key, b.records[string(key)].record); err != nil {
			return fmt.Errorf("collection %q: %w", b.c.name, err)
		}
	}
	b.keys, b.touches = b.keys[:0], b.touches[:0]
	clear(b.records)
	return nil
}

// byTime returns the stamps of entries in the order of time, without duplicates. No entry comes
// before one that happened before it. It sorts spots.
func (t *txn) byTime(spots []spot) ([]merge.Stamp, error) {
	slices.SortFunc(spots, spot.compare)
	spots = slices.Compact(spots)
	stamps := make([]merge.Stamp, len(spots))
	for i, at := range spots {
		time, err := t.timeOf(at)
		if err != nil {
			return nil, err
		}
		stamps[i] = merge.Stamp{Time: time, Log: at.log, Seq: at.seq}
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
	void, _, err := b.t.void(h, at.Seq, e)
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
