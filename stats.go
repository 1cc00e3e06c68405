package stoat

import "time"

// Stats describes a database at one moment. The numbers are read one after another while others may
// write, so they may be slightly inconsistent.
type Stats struct {
	Commits uint64 // transactions committed since the database was created
	Syncs   uint64 // writes of the log since opening, synced or not; concurrent commits share them
	Flushes uint64 // memtables written into tables since opening
	Merges  uint64 // compactions since opening

	// Failures is the number of flushes and compactions that failed since opening. They are tried
	// again, and lose nothing; the Logger says why they failed.
	Failures uint64
	// NoSpace is the number of commits, flushes and compactions that failed since opening because
	// the device or the quota was full.
	NoSpace uint64

	// CommittedBytes is the size of the keys and values committed since opening, through the log or
	// past it, and of deleted keys. Each key counts with the 1 to 9 bytes that identify its bucket.
	CommittedBytes uint64
	LogBytes       uint64 // written to the log since opening, including by transactions rolled back
	// FlushedBytes is what flushes, transactions too large for memory, and Load have written to
	// tables and value files since opening, including files that were then abandoned.
	FlushedBytes uint64
	MergedBytes  uint64 // written by compactions since opening, likewise
	CheckedBytes uint64 // of files that Check has verified since opening
	// Delay is the total time since opening for which commits were delayed so that flushes and
	// compactions keep up.
	Delay time.Duration

	// BackupFiles is the number of files that backups have copied or linked since opening, and
	// BackupBytes is their size. BackupKept and BackupKeptBytes count the files that were already
	// in the backup and were compared. The bytes are updated while a backup runs.
	BackupFiles, BackupBytes    uint64
	BackupKept, BackupKeptBytes uint64

	Entries    uint64 // entries in tables and memtables, including older ones of the same key
	Tombstones uint64 // those of Entries in tables that mark a key as deleted
	YoungRuns  int    // sorted runs that wait to be compacted
	// DroppedRuns is the number of ranges of dropped buckets whose contents still take space.
	DroppedRuns int

	Tables     int    // table files
	TableBytes uint64 // their size
	RawBytes   uint64 // the keys and values in them, before compression
	// ValueFiles is the number of files that hold large values outside tables: value files, and log
	// segments that serve as such.
	ValueFiles     int
	ValueFileBytes uint64 // their size
	ValueBytes     uint64 // the values in them that tables point to; the rest is garbage
	// PendingBytes is the work left for compactions: the tables of young runs, the large values
	// that these point to and that there was no time to compress, the garbage in value files, and
	// roughly the contents of dropped buckets and deleted ranges.
	PendingBytes uint64
	// LiveBytes is roughly what compactions would leave of TableBytes and ValueFileBytes: the
	// tables of the largest run and the values that they point to.
	LiveBytes uint64

	MemtableBytes int64 // memory of memtables
	CacheBytes    int64 // memory of decoded blocks
	// MemoryLimit is what both may take together: half of Options.MemoryLimit, since the garbage
	// collector needs the rest. It grows with use if that option is 0.
	MemoryLimit int64
}

// Stats returns the current numbers. It is cheap, except that it looks up what is within each
// bucket dropped since the last flush: thousands of them take milliseconds. It works on a closed
// database too, but then leaves deleted ranges and buckets out of PendingBytes.
func (db *DB) Stats() Stats { return Stats(db.engine.Stats()) }

// Err returns nil while the database does what it was opened for, [ErrClosed] once it is closed,
// and an error that matches [ErrPoisoned], with the cause, once writing has stopped. It is as cheap
// as reading a variable, and meant for health checks.
func (db *DB) Err() error { return db.engine.Err() }

// WriteAmplification returns how many bytes were written since opening, to the log, tables and
// value files, per byte of keys and values committed; 0 before the first commit. Committed bytes,
// not bytes of the log, are the measure, because large transactions and [DB.Load] bypass the log.
// The number means little until the database has been written to for a while: what is in memory
// will still be flushed, and young runs will still be compacted. Compression makes it smaller.
func (s Stats) WriteAmplification() float64 {
	return ratio(s.LogBytes+s.FlushedBytes+s.MergedBytes, s.CommittedBytes)
}

// SpaceAmplification estimates how many bytes the tables and value files take per byte that they
// would take if everything was compacted: TableBytes and ValueFileBytes per byte of LiveBytes; 0
// without tables. After [DB.Compact] it is close to 1.
//
// It compares files with files, not with keys and values, because compression would hide the
// garbage; RawBytes shows what compression saves. Which keys of the smaller runs are new is known
// only once they are compacted. Until then, all count as newer versions of what is in the largest
// run, which makes the result too large; and deleted keys and dropped buckets in the largest run
// count as live, which makes it too small.
func (s Stats) SpaceAmplification() float64 {
	return ratio(s.TableBytes+s.ValueFileBytes, s.LiveBytes)
}

// ratio returns a / b, or 0 if b is 0.
func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// BucketStats describes the contents of one bucket, without its nested buckets.
type BucketStats struct {
	Keys  uint64 // the number of keys
	Bytes uint64 // the size of keys and values, before compression

	// StoredBytes is the size of its values in tables, as far as it is known: in tables shared by
	// many buckets it is not. ZstdBytes and PatternBytes are the original sizes of the values in
	// them that are compressed in blocks and encoded one by one; the rest is stored uncompressed or
	// outside tables.
	StoredBytes, ZstdBytes, PatternBytes uint64
}

// Stats returns how much is in this bucket, including the writes of the transaction. It adds up
// what is known of each table, reads at most a few blocks at the ends of the bucket, and no large
// values; only entries in memory are counted one by one.
//
// The numbers are exact once the database has settled, as after [DB.Compact]. Until then they
// include what compactions will remove: older versions of a key and deleted keys, whether deleted
// one by one or as a range. Expired keys may count for longer.
func (s *space) Stats() (BucketStats, error) {
	if err := s.check(); err != nil {
		return BucketStats{}, err
	}
	m, err := s.session.snapshot().Measure(s.id)
	return BucketStats{
		Keys: m.Entries, Bytes: m.Bytes,
		StoredBytes: m.Stored, ZstdBytes: m.Zstd, PatternBytes: m.Pattern,
	}, err
}
