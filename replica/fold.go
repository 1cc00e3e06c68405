package replica

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/merge"
)

// Limits of a fold, which bound its memory unless a single record exceeds them. A fold reads an
// entry once, however many of its records the entry touches.
const (
	foldRecords = 1 << 12
	foldTouches = 1 << 16
)

// fold computes the states of records of a collection from the entries that touch them.
type fold struct {
	t       *txn
	c       *collection
	counts  func(merge.Stamp) bool // whether an entry takes part; nil: all do
	whole   bool                   // from the first entry on, and not from the checkpoint
	keys    [][]byte
	records map[string]*replayed
	touches []spot // by any of the records, with duplicates
}

// replayed is a record in a fold.
type replayed struct {
	record *merge.Record
	covers vector // the entries that its base covers
}

// full reports whether the states should be computed before more records are added.
func (f *fold) full() bool {
	return len(f.keys) >= foldRecords || len(f.touches) >= foldTouches
}

// add adds a record with the entries that touch it. It keeps the key.
func (f *fold) add(key []byte, touches []spot) error {
	record, covers := &merge.Record{}, vector(nil)
	if !f.whole {
		var err error
		if record, covers, err = f.t.base(f.c, key); err != nil {
			return err
		}
	}
	if f.records == nil {
		f.records = map[string]*replayed{}
	}
	record.Begin()
	f.keys = append(f.keys, key)
	f.records[string(key)] = &replayed{record, covers}
	for _, at := range touches {
		if covers[at.log] <= at.seq {
			f.touches = append(f.touches, at)
		}
	}
	return nil
}

// each computes the states, calls fn with each, and empties the fold. The record is fn's.
func (f *fold) each(fn func(c *collection, key []byte, record *merge.Record) error) error {
	stamps, err := f.t.byTime(f.touches)
	if err != nil {
		return err
	}
	for _, at := range stamps {
		if f.counts != nil && !f.counts(at) {
			continue
		}
		if err := f.apply(at); err != nil {
			return fmt.Errorf("entry %d of log %d: %w", at.Seq, at.Log, err)
		}
	}
	for _, key := range f.keys {
		record := f.records[string(key)].record
		record.End()
		if err := fn(f.c, key, record); err != nil {
			return err
		}
	}
	f.keys, f.touches = f.keys[:0], f.touches[:0]
	clear(f.records)
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

// apply merges what counts of an entry into the records of the fold.
func (f *fold) apply(at merge.Stamp) error {
	e, changes, err := f.t.changesOf(at.Log, at.Seq)
	if err != nil {
		return err
	}
	h, err := f.t.head(at.Log)
	if err != nil {
		return err
	}
	void, _, err := f.t.void(h, at.Seq, e)
	if err != nil {
		return err
	}
	o := &order{t: f.t, at: spot{at.Log, at.Seq}}
	for i, c := range changes {
		if e.Parts[i].Group != f.c.name || void.has(i) {
			continue
		}
		for j := range c.Records {
			r := f.records[string(c.Records[j].Key)]
			if r != nil && r.covers[at.Log] <= at.Seq {
				r.record.Apply(&c.Records[j], c.Fields, at, o)
			}
		}
	}
	return o.err
}
