package boltcompat

import "github.com/stoatdb/stoat"

// Stats describes a database. The numbers about pages and the free list are 0.
type Stats struct {
	TxStats TxStats // what ended transactions have done

	FreePageN     int // free pages; always 0
	PendingPageN  int // pages about to be free; always 0
	FreeAlloc     int // bytes in free pages; always 0
	FreelistInuse int // bytes used by the free list; always 0

	TxN     int // number of read-only transactions since opening
	OpenTxN int // number of read-only transactions that are open
}

// Sub returns the difference to earlier statistics, but OpenTxN is 0 and the numbers about the free
// list are those of s, as in bbolt.
func (s *Stats) Sub(other *Stats) Stats {
	if other == nil {
		return *s
	}
	diff := *s
	diff.OpenTxN = 0
	diff.TxN -= other.TxN
	diff.TxStats = s.TxStats.Sub(&other.TxStats)
	return diff
}

// Stats returns the statistics, or zero with [Options.NoStatistics].
func (db *DB) Stats() Stats {
	if !db.counted {
		return Stats{}
	}
	s := Stats{TxN: int(db.txN.Load()), OpenTxN: db.using.readers()}
	s.TxStats.add(&db.txStats)
	return s
}

// BucketStats describes the contents of a bucket and of those within it.
type BucketStats struct {
	BranchPageN     int // number of logical branch pages; always 0
	BranchOverflowN int // number of physical branch overflow pages; always 0
	LeafPageN       int // number of logical leaf pages; always 0
	LeafOverflowN   int // number of physical leaf overflow pages; always 0

	KeyN  int // number of keys and nested buckets
	Depth int // the number of levels of nested buckets

	BranchAlloc int // bytes of branch pages; always 0
	BranchInuse int // bytes used of them; always 0
	LeafAlloc   int // bytes of values on disk, as far as they are known
	LeafInuse   int // bytes of keys and values

	BucketN           int // number of buckets, this one included
	InlineBucketN     int // number of buckets without pages of their own; always 0
	InlineBucketInuse int // bytes used by them; always 0
}

// Add adds other statistics; Depth becomes the larger of the two.
func (s *BucketStats) Add(other BucketStats) {
	s.BranchPageN += other.BranchPageN
	s.BranchOverflowN += other.BranchOverflowN
	s.LeafPageN += other.LeafPageN
	s.LeafOverflowN += other.LeafOverflowN
	s.KeyN += other.KeyN
	s.Depth = max(s.Depth, other.Depth)
	s.BranchAlloc += other.BranchAlloc
	s.BranchInuse += other.BranchInuse
	s.LeafAlloc += other.LeafAlloc
	s.LeafInuse += other.LeafInuse
	s.BucketN += other.BucketN
	s.InlineBucketN += other.InlineBucketN
	s.InlineBucketInuse += other.InlineBucketInuse
}

// Stats returns how much is in the bucket and in those within it. KeyN is exact, for which Stats
// reads all keys; sizes are estimates until the database has settled, as [stoat.BucketStats] says.
func (b *Bucket) Stats() BucketStats {
	var within BucketStats
	names := b.list()
	for _, name := range names {
		within.Add(b.Bucket(name).Stats())
	}
	in, err := b.space.Stats()
	if err != nil && !absent(err) {
		panic(failure{err})
	}
	s := BucketStats{
		KeyN: b.countKeys() + len(names), BucketN: 1, Depth: within.Depth + 1,
		LeafAlloc: int(in.StoredBytes), LeafInuse: int(in.Bytes),
	}
	depth := s.Depth
	s.Add(within)
	s.Depth = depth
	return s
}

// occupied returns roughly how many bytes the database takes.
func occupied(s stoat.Stats) int64 {
	return int64(s.TableBytes+s.ValueFileBytes) + s.MemtableBytes
}

// room returns an error if the transaction could exceed [DB.MaxSize]. What it has put counts twice,
// since it is in the log before it is in tables.
func (tx *Tx) room() error {
	limit := int64(tx.db.MaxSize)
	if tx.writable && limit > 0 && tx.written > 0 && tx.before+2*tx.written > limit {
		return ErrMaxSizeReached
	}
	return nil
}
