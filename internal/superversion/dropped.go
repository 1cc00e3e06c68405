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

// Dead returns the buckets that do not exist any more among those which the memtables drop or have
// entries of, and all buckets within them. Unlike [Superversion.Dropped], it is right for levels
// that are newer than a part of the memtables: they may have forgotten such a bucket, or still show
// in it one that was moved elsewhere. It reads the whole catalog if the memtables drop a bucket.
func (s *Superversion) Dead() ([]uint64, error) {
	dropped := s.dropMarkers()
	if len(dropped) == 0 {
		return nil, nil
	}
	children, err := s.children()
	if err != nil {
		return nil, err
	}
	seen := make(map[uint64]bool)
	unseenWithin(children, seen, []uint64{keyspace.RootID}) // these exist
	return unseenWithin(children, seen, append(dropped, s.inMemory()...)), nil
}

// unseenWithin returns some buckets and all buckets within them, except for those that were seen,
// and marks them as seen.
func unseenWithin(
	children map[uint64][]uint64, seen map[uint64]bool, ids []uint64,
) (unseen []uint64) {
	for i := 0; i < len(ids); i++ {
		id := ids[i]
		if !seen[id] {
			seen[id] = true
			unseen = append(unseen, id)
			ids = append(ids, children[id]...)
		}
	}
	return unseen
}

// children returns the buckets that the catalog has directly within each bucket.
func (s *Superversion) children() (map[uint64][]uint64, error) {
	children := make(map[uint64][]uint64)
	var c Cursor
	first, end := keyspace.AppendCatalog(nil, keyspace.RootID), keyspace.FirstData()
	c.Init(s, Scope{Lower: first, Upper: end, Read: ReadValues})
	for ok := c.First(); ok && keyspace.Space(c.Key()[0]) == keyspace.SpaceCatalog; ok = c.Next() {
		parent, valid := keyspace.BucketOf(c.Key())
		child, err := childOf(&c)
		if err != nil {
			return nil, err
		}
		if valid {
			children[parent] = append(children[parent], child)
		}
	}
	return children, c.Err()
}

// inMemory returns the buckets that the memtables have entries of, some of them several times.
func (s *Superversion) inMemory() (ids []uint64) {
	for _, root := range slices.Concat([]memtable.Root{s.Mem}, s.Sealed) {
		var c memtable.Cursor
		c.Init(root)
		for ok := c.First(); ok; {
			id, valid := keyspace.BucketOf(c.Key())
			if valid {
				ids = append(ids, id)
			}
			if valid && keyspace.IsData(c.Key()) {
				next := keyspace.Successor(keyspace.AppendPrefix(nil, id))
				ok = next != nil && c.Seek(next)
			} else {
				ok = c.Next()
			}
		}
	}
	return ids
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
		child, err := childOf(c)
		if err != nil {
			return ids, err
		}
		ids = append(ids, child)
	}
	return ids, c.Err()
}

// childOf returns the bucket that a cursor in the catalog is on.
func childOf(c *Cursor) (uint64, error) {
	value, err := c.Value()
	if err != nil {
		return 0, err
	}
	child, n := binary.Uvarint(value)
	if n <= 0 {
		return 0, corrupt.New("catalog", 0, "bucket %q has no valid id", c.Key())
	}
	return child, nil
}
