package stoat

import (
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Shape is what the entries of a database are in at one moment: memtables, whose entries are newer
// than those in tables, and runs of tables. The newest entry of a key decides, so a get asks them
// in the order in which they are listed here.
type Shape struct {
	Memtables []MemtableInfo // newest first; the first one takes what is written
	// Young is the runs that flushes write, newest first. Compactions make them part of Bottom.
	Young  []RunInfo
	Bottom RunInfo // the oldest run, which holds most of a large database

	ValueFiles []ValueFileInfo // that tables point into, by number
	Jobs       []JobInfo       // that run, in the order in which they began
}

// MemtableInfo describes a memtable: the newest entries, in memory and in the log.
type MemtableInfo struct {
	Entries int // including older ones of the same key
	// Bytes is its memory; of the first one, with what the open transaction takes. In a database
	// that reads what another process ships, the first one counts for all.
	Bytes int64
}

// RunInfo describes a run: tables that do not overlap.
type RunInfo struct {
	Tables []TableInfo // in the order of their keys
	Ranges int         // ranges of keys that were deleted at once, and are in older tables
}

// TableInfo describes a table file.
type TableInfo struct {
	Number     uint64 // of the file; greater than that of all files that were written before
	Bytes      uint64 // its size
	RawBytes   uint64 // the keys and values in it, before compression
	ValueBytes uint64 // the values in value files that it points to
	Entries    uint64 // including tombstones
	Tombstones uint64 // entries that mark a key as deleted

	First, Last Place // of its first and its last entry
}

// ValueFileInfo describes a file that holds large values outside of tables.
type ValueFileInfo struct {
	Number uint64 // of the file
	Bytes  uint64 // its size
	Live   uint64 // the values in it that tables point to; the rest is garbage
	Log    bool   // it is a segment of the log, which serves as a value file
}

// JobInfo describes a flush or a compaction that runs.
type JobInfo struct {
	// Reason is why a compaction was picked, as in the event "compacted", and empty for a flush,
	// which writes the last memtable.
	Reason   string
	Began    time.Time
	Tables   []uint64 // the numbers of the tables that a compaction reads
	ToBottom bool     // its output becomes part of the bottom run, else it is a young run
	Bytes    uint64   // the size of those tables, or the memory of the memtable
	// Written is how much of tables and value files it has written so far. In the end that can be
	// far less than Bytes, because of compression, deleted keys, and tables that need not be
	// rewritten, or more, because of large values.
	Written uint64
}

// Place is where an entry is in the order of all entries of a database: first comes the catalog,
// which describes buckets, then the keys of one bucket after the other, by [Bucket.ID].
type Place struct {
	Catalog bool   // else it is that of a key in a bucket
	Bucket  uint64 // of the key; in the catalog, that is described or contains the bucket Key
	Key     []byte // in the catalog the name of a bucket, or nil
}

// Shape returns what the entries of the database are in. It reads no file, makes no get wait, and a
// commit only for a moment. It takes time and memory in proportion to the number of tables. The
// keys in it must not be modified. It works on a closed database, too.
func (db *DB) Shape() Shape {
	from := db.engine.Shape()
	s := Shape{Bottom: runInfo(from.Bottom)}
	for _, m := range from.Memtables {
		s.Memtables = append(s.Memtables, MemtableInfo(m))
	}
	for _, r := range from.Young {
		s.Young = append(s.Young, runInfo(r))
	}
	for _, f := range from.ValueFiles {
		s.ValueFiles = append(s.ValueFiles, ValueFileInfo(f))
	}
	for _, j := range from.Jobs {
		j.Tables = slices.Clone(j.Tables)
		s.Jobs = append(s.Jobs, JobInfo{
			Reason: j.Why, Began: j.Began, Tables: j.Tables, ToBottom: j.ToBottom,
			Bytes: j.Bytes, Written: j.Written,
		})
	}
	return s
}

func runInfo(r engine.Run) RunInfo {
	info := RunInfo{Tables: make([]TableInfo, len(r.Tables)), Ranges: r.Ranges}
	for i, t := range r.Tables {
		info.Tables[i] = TableInfo{
			Number: t.Number, Bytes: t.Bytes, RawBytes: t.RawBytes, ValueBytes: t.ValueBytes,
			Entries: t.Entries, Tombstones: t.Tombstones,
			First: placeOf(t.First), Last: placeOf(t.Last),
		}
	}
	return info
}

// placeOf returns the place of an internal key. That of a malformed one is in the catalog, with its
// bytes: whoever looks inside sees what is there.
func placeOf(key []byte) Place {
	p, ok := keyspace.Parse(key)
	if !ok {
		return Place{Catalog: true, Key: key}
	}
	name := p.Name[:len(p.Name):len(p.Name)]
	if p.Space == keyspace.SpaceData {
		return Place{Bucket: p.Bucket, Key: name}
	}
	if p.Space != keyspace.SpaceCatalog {
		name = nil
	}
	return Place{Catalog: true, Bucket: p.Bucket, Key: name}
}

// ID returns the number of the bucket, which no other bucket of the database ever gets, even after
// this one is gone. Moving a bucket does not change it. The root bucket has the number 0.
func (b *Bucket) ID() uint64 { return b.id }
