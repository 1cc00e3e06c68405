package stoat

import "time"

// Stats describes a database at one moment. The numbers are read one after the other while others
// may write, so that they need not agree to the last.
type Stats struct {
	Commits uint64 // transactions committed since the database was created
	Syncs   uint64 // writes of the log since opening; concurrent commits share them
	Flushes uint64 // memtables written into tables since opening
	Merges  uint64 // compactions of tables since opening

	// CommittedBytes is the keys and values of what was committed since opening, through the log or
	// past it, and the keys of deletions. A key counts with the 1 to 9 bytes that stand for its
	// bucket.
	CommittedBytes uint64
	LogBytes       uint64 // written to the log since opening, also for what was rolled back
	// FlushedBytes is what was written to tables and value files since opening, but for
	// compactions: by flushes, by transactions too large for memory, and by Load; also what was
	// then given up.
	FlushedBytes uint64
	MergedBytes  uint64 // written by compactions since opening, likewise
	CheckedBytes uint64 // of files that Check has verified since opening
	// Delay is the sum of the times for which commits were held back since opening, so that flushes
	// and compactions keep up.
	Delay time.Duration

	// BackupFiles is the number of files that backups have copied or linked since opening, and
	// BackupBytes their size. BackupKept and BackupKeptBytes are those that the folders had
	// already, and that were compared. The bytes are counted while a backup goes on.
	BackupFiles, BackupBytes    uint64
	BackupKept, BackupKeptBytes uint64

	Entries    uint64 // entries in tables and memtables, older ones of the same key included
	Tombstones uint64 // those of Entries in tables that say that a key is gone
	YoungRuns  int    // sorted runs that wait to be compacted
	// DroppedRuns is the number of ranges of dropped buckets whose contents still take space.
	DroppedRuns int

	Tables     int    // table files
	TableBytes uint64 // their size
	RawBytes   uint64 // the keys and values in them, before compression
	// ValueFiles is the number of files with large values that lie outside of tables: value files,
	// and segments of the log that serve as such.
	ValueFiles     int
	ValueFileBytes uint64 // their size
	ValueBytes     uint64 // the values in them that some table points to; the rest is garbage
	// PendingBytes is what compactions have to work on: the tables of young runs, the large values
	// that these point to and that there was no time to compress, the garbage in value files, and
	// about what is left in tables, with its values, of dropped buckets and of ranges that were
	// deleted.
	PendingBytes uint64
	// LiveBytes is about what compactions would leave of TableBytes and ValueFileBytes: the tables
	// of the largest run, and the values that they point to.
	LiveBytes uint64

	MemtableBytes int64 // memory of memtables
	CacheBytes    int64 // memory of decoded blocks
}

// Stats returns the current numbers. It is cheap, except that it looks for what is within each
// bucket that was dropped since the last flush: thousands take milliseconds. It works on a closed
// database too, but leaves out of PendingBytes what was deleted in ranges and buckets.
func (db *DB) Stats() Stats { return Stats(db.engine.Stats()) }

// WriteAmplification returns how many bytes were written since opening, to the log, to tables and
// to value files, for each byte of the keys and values committed; 0 before the first commit. It is
// measured against those and not against the log, because large transactions and [DB.Load] write
// past the log. It means something after a while of writing: what is in memory is still to be
// flushed, and young runs are to be compacted. Compression makes it smaller.
func (s Stats) WriteAmplification() float64 {
	return ratio(s.LogBytes+s.FlushedBytes+s.MergedBytes, s.CommittedBytes)
}

// SpaceAmplification returns how many bytes the tables and value files take for each byte that they
// would take if all was compacted, as far as that can be told: TableBytes and ValueFileBytes for
// each one of LiveBytes; 0 without tables. After [DB.Compact] it is close to 1.
//
// It compares files with files and not with keys and values, among which compression would hide the
// garbage; RawBytes tells what compression saves. Which keys of the smaller runs are new is known
// only when they are compacted. Until then all count as newer versions of what is in the largest
// run, which makes the result too large; and what is deleted of that, or belongs to dropped
// buckets, counts as live, which makes it too small.
func (s Stats) SpaceAmplification() float64 {
	return ratio(s.TableBytes+s.ValueFileBytes, s.LiveBytes)
}

// ratio returns a / b, and 0 if b is 0.
func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// BucketStats says how much there is in one bucket, without the buckets within it.
type BucketStats struct {
	Keys  uint64 // its keys
	Bytes uint64 // those of its keys and values, before compression

	// StoredBytes is how many bytes its values take in tables, as far as it is known: of tables
	// that hold many buckets it is not. ZstdBytes and PatternBytes are how many bytes of values, as
	// they were, are in them compressed in blocks, and encoded one by one; what is not is stored as
	// it is, or not in tables.
	StoredBytes, ZstdBytes, PatternBytes uint64
}

// Stats returns how much there is in this bucket, with what the transaction wrote. It adds up what
// is known of each table, and reads at most some blocks at the ends of the bucket, and no large
// value; only entries in memory are counted one by one.
//
// The numbers are exact once the database has settled, as after [DB.Compact]. Until then they are
// too large by what compactions will remove: older versions of a key, and what was deleted, by
// itself or in a range. What has expired may count for longer.
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
