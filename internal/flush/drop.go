package flush

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Config completes the configuration of the run to write: one that is likely to stay as it is,
// because it lies apart from all others, or one that is not. drop is the buckets that are dropped
// with it.
func (j Job) Config(stays bool, drop []uint64) run.Config {
	output := j.Output
	output.Filter = !stays
	output.Compress = j.CompressYoung || stays && j.CompressBottom
	output.Dictionaries = j.Levels.Dictionaries()
	version := j.Levels.Version
	output.DropEpoch = version.DropEpoch
	if len(drop) > 0 {
		output.DropEpoch++
	}
	if len(drop)+len(version.Dropped) > 0 {
		now := make(map[uint64]bool, len(drop))
		for _, id := range drop {
			now[id] = true
		}
		output.Dropped = func(id uint64) bool { return now[id] || version.IsDropped(id) }
	}
	return output
}

// Dropped returns the buckets that the memtable says were dropped, with all buckets within them,
// however deep: their contents become garbage together.
func (j Job) Dropped() ([]uint64, error) {
	snapshot := &superversion.Superversion{Mem: j.Root, Levels: j.Levels}
	var c superversion.Cursor
	var ids []uint64
	first, end := keyspace.DroppedRange()
	c.Init(snapshot, first, end, superversion.NoValues, nil)
	for ok := c.First(); ok; ok = c.Next() {
		if id, ok := keyspace.ParseDropped(c.Key()); ok {
			ids = append(ids, id)
		}
	}
	for i := 0; i < len(ids) && c.Err() == nil; i++ {
		catalog := keyspace.AppendCatalog(nil, ids[i])
		c.Init(snapshot, catalog, keyspace.Successor(catalog), superversion.Values, nil)
		for ok := c.First(); ok; ok = c.Next() {
			value, err := c.Value()
			if err != nil {
				return nil, err
			}
			child, n := binary.Uvarint(value)
			if n <= 0 {
				return nil, corrupt.New("catalog", 0, "bucket %q has no valid id", c.Key())
			}
			ids = append(ids, child)
		}
	}
	return ids, c.Err()
}
