package engine

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// unflushedGarbage returns about how many bytes of tables and values merges could give back if the
// memtables were flushed, and how many those tables have of which that is a part.
func (e *Engine) unflushedGarbage() (garbage, cut uint64) {
	state := e.state.Load()
	deleted, _ := e.deletedBy(state)
	if len(deleted) == 0 {
		return 0, 0
	}
	known, all := state.Levels.Garbage(nil), state.Levels.Garbage(deleted)
	before := known.Young + known.Bottom
	return max(before, all.Young+all.Bottom) - before, all.Cut
}

// deletedBy returns what the memtables delete as ranges and with buckets, and how many buckets
// those are. What cannot be read is left out.
func (e *Engine) deletedBy(state *superversion.Superversion) (deleted keyspace.Spans, dropped int) {
	for _, root := range append([]memtable.Root{state.Mem}, state.Sealed...) {
		deleted = deleted.With(root.Deleted()...)
		if !dropsBuckets(root) {
			continue
		}
		var ids []uint64
		err := vfs.CatchFaults(func() (err error) {
			ids, err = e.flushJob(sealed{root: root}, state.Levels, false).Dropped()
			return err
		})
		if err != nil {
			e.options.Logger.Warn("look for dropped buckets", "dir", e.dir, "err", err)
		}
		for _, id := range ids {
			deleted = deleted.With(superversion.BucketSpans(id, id)...)
		}
		dropped += len(ids)
	}
	return deleted, dropped
}

// dropsBuckets reports whether a memtable says that buckets were dropped.
func dropsBuckets(root memtable.Root) bool {
	var c memtable.Cursor
	c.Init(root)
	first, end := keyspace.DroppedRange()
	return c.Seek(first) && string(c.Key()) < string(end)
}
