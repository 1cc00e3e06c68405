package superversion

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
)

// Dropped yields the buckets that the memtables say were dropped, and all buckets within them at
// any depth: their contents become garbage together. It ends after an error.
func (s *Superversion) Dropped() iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		ids := s.dropMarkers()
		var c Cursor
		for i := 0; i < len(ids); i++ {
			if !yield(ids[i], nil) {
				return
			}
			var err error
			if ids, err = s.appendChildren(ids, ids[i], &c); err != nil {
				yield(0, err)
				return
			}
		}
	}
}

// dropMarkers returns the buckets that the memtables have drop markers for. Tables have none.
func (s *Superversion) dropMarkers() (ids []uint64) {
	first, end := keyspace.DroppedRange()
	for _, root := range slices.Concat([]memtable.Root{s.Mem}, s.Sealed) {
		var c memtable.Cursor
		c.Init(root)
		for ok := c.Seek(first); ok && string(c.Key()) < string(end); ok = c.Next() {
			if id, ok := keyspace.ParseDropped(c.Key()); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// appendChildren appends the buckets that are directly within bucket id.
func (s *Superversion) appendChildren(ids []uint64, id uint64, c *Cursor) ([]uint64, error) {
	catalog := keyspace.AppendCatalog(nil, id)
	c.Init(s, Scope{
		Lower: catalog, Upper: keyspace.Successor(catalog), Read: ReadValues,
	})
	for ok := c.First(); ok; ok = c.Next() {
		value, err := c.Value()
		if err != nil {
			return ids, err
		}
		child, n := binary.Uvarint(value)
		if n <= 0 {
			return ids, corrupt.New("catalog", 0, "bucket %q has no valid id", c.Key())
		}
		ids = append(ids, child)
	}
	return ids, c.Err()
}
