package check

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// catalog is what a database says about its buckets.
type catalog struct {
	version *manifest.Version
	ids     []uint64        // of buckets within the root or within one that exists, ascending
	dropped map[uint64]bool // those that a memtable says were dropped
	parents []uint64        // of ids, and those that have a sequence, in any order
	next    uint64          // the id of the next bucket
}

// knows reports whether the bucket was created, or was dropped and may still have keys.
func (c *catalog) knows(id uint64) bool {
	if id == keyspace.RootID || c.dropped[id] || c.version.IsDropped(id) {
		return true
	}
	_, ok := slices.BinarySearch(c.ids, id)
	return ok
}

// readCatalog reads the catalog as readers see it and verifies that it is consistent. If it cannot
// be read, unreadable says why, and buckets are not checked.
func (d *Check) readCatalog() (unreadable, err error) {
	c := &catalog{
		version: d.Snapshot.Levels.Version, dropped: make(map[uint64]bool), next: keyspace.RootID + 1,
	}
	unreadable = vfs.CatchFaults(func() error { return d.readEntries(c) })
	if err := d.ctx.Err(); unreadable != nil || err != nil {
		return unreadable, err
	}
	d.checkCatalog(c)
	d.catalog = c
	d.checkMemtables()
	return nil, nil
}

// readEntries adds all entries below all data. It returns why they cannot be read, or why the check
// must end.
func (d *Check) readEntries(c *catalog) error {
	var cursor superversion.Cursor
	first, end := keyspace.AppendCatalog(nil, keyspace.RootID), keyspace.FirstData()
	cursor.Init(d.Snapshot, superversion.Scope{
		Lower: first, Upper: end, Read: superversion.ReadValues,
	})
	for ok := cursor.First(); ok; ok = cursor.Next() {
		value, err := cursor.Value()
		if err != nil {
			return err
		}
		if err := c.add(cursor.Key(), value); err != nil {
			d.wrong("catalog: %v", err)
		}
		if err := d.ctx.Err(); err != nil {
			return err
		}
	}
	return cursor.Err()
}

func (d *Check) wrong(format string, args ...any) {
	d.found.Add(d.Dir, corrupt.New(d.Dir, 0, format, args...))
}

// add adds one entry below all data.
func (c *catalog) add(key, value []byte) error {
	if id, ok := keyspace.ParseDropped(key); ok {
		c.dropped[id] = true
		return nil
	}
	number, n := binary.Uvarint(value)
	if n <= 0 || n != len(value) {
		return fmt.Errorf("the value of %q is no number", key)
	}
	id, ok := keyspace.BucketOf(key)
	switch {
	case bytes.Equal(key, keyspace.AppendNextID(nil)):
		c.next = number
	case ok && keyspace.Space(key[0]) == keyspace.SpaceCatalog:
		// A flush leaves out the tombstones of a dropped bucket. That may uncover in it the entry of
		// a bucket that was moved out.
		if !c.version.IsDropped(id) {
			c.ids = append(c.ids, number)
		}
		c.parents = append(c.parents, id)
	case ok && keyspace.Space(key[0]) == keyspace.SpaceSequence:
		c.parents = append(c.parents, id)
	case bytes.Equal(key, keyspace.AppendSalvage(nil)):
	default:
		return fmt.Errorf("key %q is of no kind", key)
	}
	return nil
}

// checkCatalog verifies that ids are unique and were handed out, and that parents exist.
func (d *Check) checkCatalog(c *catalog) {
	slices.Sort(c.ids)
	for i, id := range c.ids {
		if i > 0 && id == c.ids[i-1] {
			d.wrong("catalog: two buckets have the id %d", id)
		}
	}
	if n := len(c.ids); n > 0 && (c.ids[0] == keyspace.RootID || c.ids[n-1] >= c.next) {
		d.wrong("catalog: buckets have the ids %d to %d, though %d comes next", c.ids[0], c.ids[n-1],
			c.next)
	}
	slices.Sort(c.parents)
	for _, id := range slices.Compact(c.parents) {
		if !c.knows(id) {
			d.wrong("catalog: bucket %d has buckets or a sequence, and does not exist", id)
		}
	}
}

func (d *Check) checkMemtables() {
	for _, root := range append(slices.Clip(d.Snapshot.Sealed), d.Snapshot.Mem) {
		var c memtable.Cursor
		c.Init(root)
		for ok := c.Seek(keyspace.FirstData()); ok; {
			id, valid := keyspace.BucketOf(c.Key())
			if !valid || !d.catalog.knows(id) {
				d.wrong("memory has keys like %q of a bucket that was neither created nor dropped",
					bytes.Clone(c.Key()))
			}
			next := keyspace.Successor(keyspace.AppendPrefix(nil, id))
			if next == nil || bytes.Compare(next, c.Key()) <= 0 {
				break
			}
			ok = c.Seek(next)
		}
	}
}
