package engine

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// unflushedGarbage returns about how many bytes of tables and values compactions could free if the
// memtables were flushed, and how large the tables are of which only a part would go.
func (e *Engine) unflushedGarbage() (garbage, cut uint64) {
	e.asJob(func() {
		state := e.state.Load()
		deleted, _ := e.deletedBy(state)
		if len(deleted) == 0 {
			return
		}
		known := state.Levels.Garbage(nil, e.closed.Load)
		all := state.Levels.Garbage(deleted, e.closed.Load)
		before := known.Young + known.Bottom
		garbage, cut = max(before, all.Young+all.Bottom)-before, all.Cut
	})
	return garbage, cut
}

// asJob runs fn, which may use files. Close waits for it, so fn ends early once the engine is
// closed. If the engine is closed already, asJob does nothing.
func (e *Engine) asJob(fn func()) {
	e.mu.Lock()
	open := !e.closed.Load()
	if open {
		e.jobs.Add(1)
	}
	e.mu.Unlock()
	if open {
		defer e.jobs.Done()
		fn()
	}
}

// deletedBy returns what the memtables delete as ranges and with buckets, and how many buckets
// those are. It leaves out what it cannot read, or not before the engine closes.
func (e *Engine) deletedBy(state *superversion.Superversion) (deleted keyspace.Spans, dropped int) {
	all := state.Mem.Deleted()
	for _, root := range state.Sealed {
		all = append(all[:len(all):len(all)], root.Deleted()...)
	}
	err := vfs.CatchFaults(func() error {
		for id, err := range state.Dropped() {
			if err != nil || e.closed.Load() {
				return err
			}
			all = append(all, superversion.BucketSpans(id, id)...)
			dropped++
		}
		return nil
	})
	if err != nil {
		e.options.Logger.Warn("look for dropped buckets", "dir", e.dir, "err", err)
	}
	return keyspace.Spans(nil).With(all...), dropped
}
