package manifest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Table describes a table file. Immutable.
type Table struct {
	Number     uint64 // of the file
	Size       uint64 // of the file, in bytes
	Entries    uint64 // including tombstones
	Tombstones uint64 // entries that delete a key
	RawBytes   uint64 // keys and values, before compression
	DropEpoch  uint64 // buckets dropped up to this epoch have nothing in the table
	Compressed bool   // blocks are compressed if that makes them smaller
	Smallest   []byte // the first key
	Largest    []byte // the last key

	// StaleAt is when enough of the table will have expired for a rewrite to pay, in milliseconds
	// since 1970; 0 is never.
	StaleAt uint64
	Values  []ValueShare  // of value files that it points into, by file
	Buckets []BucketShare // by id; nil if it holds many buckets

	Dictionaries []uint64 // numbers of the dictionaries of its values, ascending
}

// IsCatalog reports whether the table is of the catalog of buckets, which shares none with data.
func (t *Table) IsCatalog() bool { return !keyspace.IsData(t.Smallest) }

// Within reports whether all keys of the table are in a span.
func (t *Table) Within(s keyspace.Span) bool {
	return s.Contains(t.Smallest) && s.Contains(t.Largest)
}

// Meets reports whether the table may have a key in a span.
func (t *Table) Meets(s keyspace.Span) bool {
	return bytes.Compare(s.Start, t.Largest) <= 0 &&
		(s.End == nil || bytes.Compare(t.Smallest, s.End) < 0)
}

// SortTables sorts tables that do not overlap in the order of their keys.
func SortTables(tables []*Table) {
	slices.SortFunc(tables, func(a, b *Table) int { return bytes.Compare(a.Smallest, b.Smallest) })
}

// ValueShare is what a table points to in one value file. Immutable.
type ValueShare struct {
	File, Count, Bytes uint64
}

// BucketShare is what a table holds of one bucket: entries except tombstones, and the bytes of
// their keys and values, including values in other files. Immutable.
type BucketShare struct {
	Bucket, Entries, Bytes uint64

	Stored  uint64 // bytes of its value blocks; inexact, since the first and last may be shared
	Zstd    uint64 // bytes of the values in its compressed blocks
	Pattern uint64 // bytes of the values in its blocks that encode each value alone
}

// checkShares returns an error if shares are out of order or empty.
func (t *Table) checkShares() error {
	for i, s := range t.Values {
		if s.Count == 0 || i > 0 && s.File <= t.Values[i-1].File {
			return fmt.Errorf("table %06d: share %d of value files is out of order", t.Number, i)
		}
	}
	for i, number := range t.Dictionaries {
		if number == 0 || i > 0 && number <= t.Dictionaries[i-1] {
			return fmt.Errorf("table %06d: dictionary %d is out of order", t.Number, i)
		}
	}
	for i, s := range t.Buckets {
		if i > 0 && s.Bucket <= t.Buckets[i-1].Bucket {
			return fmt.Errorf("table %06d: share %d of buckets is out of order", t.Number, i)
		}
	}
	return nil
}

// Run is a sequence of tables in key order that do not overlap. Immutable.
type Run struct {
	Tables []*Table
	// Deleted is the ranges of keys that were deleted. They hide data older than the run, but none
	// in it. The bottom run has none.
	Deleted keyspace.Spans
}

// Bytes returns the size of the run's tables.
func (r Run) Bytes() (n uint64) {
	for _, t := range r.Tables {
		n += t.Size
	}
	return n
}

// Span returns the smallest and the largest key with an entry or a deletion in the run; ok is false
// if the run is empty. If last is nil, the run has no upper bound.
func (r Run) Span() (first, last []byte, ok bool) {
	if n := len(r.Tables); n > 0 {
		first, last, ok = r.Tables[0].Smallest, r.Tables[n-1].Largest, true
	}
	if n := len(r.Deleted); n > 0 {
		start, end := r.Deleted[0].Start, r.Deleted[n-1].End
		if !ok || bytes.Compare(start, first) < 0 {
			first = start
		}
		if !ok || end == nil || bytes.Compare(end, last) > 0 {
			last = end
		}
		ok = true
	}
	return first, last, ok
}

// check returns an error if tables or deletions are out of order.
func (r Run) check() error {
	for i, t := range r.Tables {
		if bytes.Compare(t.Smallest, t.Largest) > 0 {
			return fmt.Errorf("table %06d ends before it starts", t.Number)
		}
		if i > 0 && bytes.Compare(r.Tables[i-1].Largest, t.Smallest) >= 0 {
			return fmt.Errorf("tables %06d and %06d overlap", r.Tables[i-1].Number, t.Number)
		}
		if err := t.checkShares(); err != nil {
			return err
		}
	}
	for i, d := range r.Deleted {
		if d.End != nil && bytes.Compare(d.Start, d.End) >= 0 ||
			i > 0 && (r.Deleted[i-1].End == nil || bytes.Compare(r.Deleted[i-1].End, d.Start) >= 0) {
			return fmt.Errorf("range deletion %d is out of order", i)
		}
	}
	return nil
}
