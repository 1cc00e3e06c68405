package record

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

// Verify reads the whole collection and returns an error if records, keys, indexes and count
// disagree. Normally there is no need to call it, because they change together. To find damage on
// disk, use [stoat.DB.Check].
func (c *Collection[T]) Verify(tx *stoat.Tx) error {
	s, err := c.core.session(tx)
	if err != nil {
		return err
	}
	return c.core.wrap(c.core.verify(s))
}

func (c *collection) verify(s *session) error {
	n, err := s.count()
	if err != nil {
		return err
	}
	records := uint64(0)
	wanted := make([]uint64, len(c.shape.indexes))
	for key, value := range s.data.Scan(stoat.Range{}) {
		records++
		if err := c.verifyRecord(s, key, value, wanted); err != nil {
			return fmt.Errorf("key %s: %w", formatKey(key), err)
		}
	}
	if err := s.tx.Err(); err != nil {
		return err
	}
	if records != n.records {
		return fmt.Errorf("there are %d records, but the count is %d", records, n.records)
	}
	if c.shape.auto != nil {
		highest, last, err := s.highest()
		if err != nil {
			return err
		}
		if highest > last {
			return fmt.Errorf("the highest key is %d, but the last assigned key is %d", highest, last)
		}
	}
	for i, x := range c.shape.indexes {
		bucket, err := s.index(x)
		if err != nil {
			return err
		}
		entries := uint64(0)
		for range bucket.Keys(stoat.Range{}) {
			entries++
		}
		if entries != wanted[i] {
			return fmt.Errorf("index %s has %d entries, but the records have %d", x.Name, entries,
				wanted[i])
		}
	}
	return s.tx.Err()
}

// verifyRecord checks one record, and counts its index entries in wanted.
func (c *collection) verifyRecord(s *session, key, value []byte, wanted []uint64) error {
	r := c.newRecord()
	if err := c.decode(value, r); err != nil {
		return err
	}
	own, err := c.appendKeyOf(nil, r)
	if err != nil {
		return err
	}
	if !bytes.Equal(own, key) {
		return fmt.Errorf("the record has the key %s", formatKey(own))
	}
	for i, x := range c.shape.indexes {
		bucket, err := s.index(x)
		if err != nil {
			return err
		}
		for _, entry := range x.appendEntries(nil, r) {
			wanted[i]++
			if !x.Unique {
				entry = append(entry, key...)
			}
			owner, err := bucket.Get(entry)
			if errors.Is(err, stoat.ErrNotFound) || err == nil && x.Unique && !bytes.Equal(owner, key) {
				return fmt.Errorf("index %s does not have the record", x.Name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
