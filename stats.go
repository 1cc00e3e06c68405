package stoat

// Stats describes a database at one moment. The numbers are read one after the other while others
// may write, so that they need not agree to the last.
type Stats struct {
	Commits uint64 // transactions committed since the database was created
	Syncs   uint64 // writes of the log since opening; concurrent commits share them
	Flushes uint64 // memtables written into tables since opening
	Merges  uint64 // merges of tables since opening

	YoungRuns  int    // sorted runs that wait to be merged
	Tables     int    // table files
	TableBytes uint64 // their size
	RawBytes   uint64 // the keys and values in them, before compression
	Entries    uint64 // entries in tables and memtables, older ones of the same key included
	Tombstones uint64 // those of Entries in tables that say that a key is gone
	// DroppedRuns is the number of ranges of dropped buckets whose contents still take space.
	DroppedRuns int

	MemtableBytes int64 // memory of memtables
	CacheBytes    int64 // memory of decoded blocks
}

// Stats returns the current numbers. It is cheap, and works on a closed database too.
func (db *DB) Stats() Stats { return Stats(db.engine.Stats()) }
