package record

import (
	"bytes"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/stoatdb/stoat"
)

// InsertAll inserts many records, whose keys must be new, and returns their number. It does the
// same as [Collection.Insert] for each record, but faster: it sorts records and index entries
// before storing them, a few thousand at a time, and skips the lookup for keys beyond the highest
// existing one. It does not retain the records. A transaction can be larger than memory, and so can
// its input.
//
// The iterator may write to the collection, too; what it stores counts as existing.
//
// After an error, which is [ErrExists] or [ErrDuplicate] if a key or the value in a unique index
// already exists, roll the transaction back: if something was stored, its commit fails with that
// error.
func (c *Collection[T]) InsertAll(tx *stoat.Tx, records iter.Seq[*T]) (n uint64, err error) {
	return c.core.insertAll(tx, func(yield func(reflect.Value) bool) {
		for r := range records {
			if !yield(valueOf(r)) {
				return
			}
		}
	})
}

func (c *collection) insertAll(
	tx *stoat.Tx, records iter.Seq[reflect.Value],
) (n uint64, err error) {
	s, err := c.writer(tx)
	if err != nil {
		return 0, err
	}
	b := &bulk{c: c, s: s, entries: make([][]pair, len(c.shape.indexes))}
	for r := range records {
		if err = b.add(r); err != nil {
			break
		}
		n++
	}
	if err == nil {
		err = b.flush()
	}
	if err = c.wrap(err); b.stored {
		err = refuseCommit(tx, err)
	}
	return n, err
}

// Limits of what a bulk keeps in memory before it stores it.
const (
	bulkRecords = 4096
	bulkBytes   = 1 << 20
)

// bulk collects records to insert and stores them in batches.
type bulk struct {
	c       *collection
	s       *session
	highest []byte   // the highest key, as of the last flush; nil if there is none
	stored  bool     // something was stored
	records []pair   // collected since the last flush
	entries [][]pair // of each index, by number
	size    int      // of the records, in bytes
}

// pair is a key with its value.
type pair struct{ key, value []byte }

// add collects a record.
func (b *bulk) add(r reflect.Value) error {
	if !r.IsValid() {
		return errNilRecord
	}
	if err := b.c.sweepSome(b.s); err != nil {
		return err
	}
	if _, err := b.c.assignKey(b.s, r); err != nil {
		return err
	}
	key, err := b.c.appendKeyOf(nil, r)
	if err != nil {
		return err
	}
	value, err := b.c.encode(nil, r)
	if err == nil {
		err = b.c.advanceKey(b.s, r)
	}
	if err == nil && b.c.codec != CodecBinary {
		r, err = b.c.kept(key, value)
	}
	if err != nil {
		return fmt.Errorf("key %s: %w", formatKey(key), err)
	}
	if b.c.ended(b.s.tx, r) {
		return b.addExpired(key, r)
	}
	b.records = append(b.records, pair{key, value})
	for i, x := range b.c.shape.indexes {
		for _, entry := range x.appendEntries(nil, r) {
			p := pair{entry, key}
			if !x.Unique {
				p = pair{append(entry, key...), nil}
			}
			b.entries[i] = append(b.entries[i], p)
		}
	}
	b.size += len(key) + len(value)
	if len(b.records) >= bulkRecords || b.size >= bulkBytes {
		return b.flush()
	}
	return nil
}

// addExpired stores a record that has already expired, which a later one may replace.
func (b *bulk) addExpired(key []byte, r reflect.Value) error {
	if err := b.flush(); err != nil {
		return err
	}
	b.s.key = append(b.s.key[:0], key...)
	if err := b.c.write(b.s, r, insert); err != nil {
		return fmt.Errorf("key %s: %w", formatKey(key), err)
	}
	b.stored = true
	return nil
}

// flush stores the collected records.
func (b *bulk) flush() error {
	if len(b.records) == 0 {
		return nil
	}
	n, err := b.s.count()
	if err != nil {
		return err
	}
	if err := b.findHighest(); err != nil {
		return err
	}
	slices.SortFunc(b.records, comparePairs)
	for _, p := range b.records {
		if err := b.store(p); err != nil {
			return fmt.Errorf("key %s: %w", formatKey(p.key), err)
		}
	}
	for i, x := range b.c.shape.indexes {
		if err := b.index(x, b.entries[i]); err != nil {
			return err
		}
		clear(b.entries[i])
		b.entries[i] = b.entries[i][:0]
	}
	n.records += uint64(len(b.records))
	clear(b.records)
	b.records, b.size = b.records[:0], 0
	return n.change(b.s.tx)
}

// findHighest finds the highest key; the iterator may have stored records since the last flush.
func (b *bulk) findHighest() error {
	b.highest = nil
	for key := range b.s.data.Keys(stoat.Range{Reverse: true, Limit: 1}) {
		b.highest = bytes.Clone(key)
	}
	return b.s.tx.Err()
}

func comparePairs(a, b pair) int { return bytes.Compare(a.key, b.key) }

// store stores a record.
func (b *bulk) store(p pair) error {
	if b.highest != nil && bytes.Compare(p.key, b.highest) <= 0 {
		ok, err := b.s.data.Has(p.key)
		if err == nil && ok {
			ok, err = b.c.removeExpired(b.s, p.key)
			if err == nil && !ok {
				err = ErrExists
			}
		}
		if err != nil {
			return err
		}
	} else {
		b.highest = p.key
	}
	if err := b.c.announce(b.s, p.key, nil); err != nil {
		return err
	}
	b.stored = true
	return b.s.data.Put(p.key, p.value)
}

// index stores the entries of an index.
func (b *bulk) index(x *index, entries []pair) error {
	bucket, err := b.s.index(x)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, comparePairs)
	change := indexChange{bucket: bucket, unique: true}
	for _, p := range entries {
		if x.Unique {
			change.adds = append(change.adds[:0], p.key)
			if err := b.c.claim(b.s, &change, x, p.value); err != nil {
				return fmt.Errorf("key %s: %w", formatKey(p.value), err)
			}
		}
		if err := bucket.Put(p.key, p.value); err != nil {
			return fmt.Errorf("index %s: %w", x.Name, err)
		}
	}
	return nil
}
