package engine

import "sync/atomic"

// counters holds what the engine has done since it was opened, and how it stands.
type counters struct {
	syncs, flushes, merges atomic.Uint64
	activeBytes            atomic.Int64 // memory of the active memtable; set under Engine.turn
	sealedBytes            atomic.Int64 // memory of the sealed memtables; set under Engine.mu
	paceNanos              atomic.Int64 // how long commits are held back, per byte; likewise
}

// Stats describes an engine at one moment.
type Stats struct {
	Commits uint64 // transactions committed since the database was created
	Syncs   uint64 // writes of the log since opening; commits share them
	Flushes uint64 // memtables written into tables since opening
	Merges  uint64 // merges since opening

	YoungRuns   int    // runs that wait to be merged
	Tables      int    // table files
	TableBytes  uint64 // their size
	RawBytes    uint64 // keys and values in them, before compression
	Entries     uint64 // entries in tables and memtables, older ones of the same key included
	Tombstones  uint64 // those of Entries in tables that say a key is gone
	DroppedRuns int    // ranges of dropped buckets whose contents are not all removed yet

	MemtableBytes int64 // memory of memtables
	CacheBytes    int64 // memory of decoded blocks
}

// Stats returns the current numbers.
func (e *Engine) Stats() Stats {
	state := e.state.Load()
	version := state.Levels.Version
	s := Stats{
		Commits:       e.committed.Load(),
		Syncs:         e.syncs.Load(),
		Flushes:       e.flushes.Load(),
		Merges:        e.merges.Load(),
		YoungRuns:     len(version.Young),
		DroppedRuns:   len(version.Dropped),
		Entries:       uint64(state.Mem.Len()),
		MemtableBytes: e.activeBytes.Load() + e.sealedBytes.Load(),
		CacheBytes:    e.cache.Bytes(),
	}
	for _, root := range state.Sealed {
		s.Entries += uint64(root.Len())
	}
	for t := range version.Tables() {
		s.Tables++
		s.TableBytes += t.Size
		s.RawBytes += t.RawBytes
		s.Entries += t.Entries
		s.Tombstones += t.Tombstones
	}
	return s
}
