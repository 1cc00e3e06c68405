package salvage

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// listMax bounds each list of a report; what is beyond is counted.
const listMax = 1000

// Report says what a salvage has found, lost, and written.
type Report struct {
	Source, Dest string

	Manifest string // the file that named the others; empty if none could be used
	Older    bool   // any key may be lost, have an older value, or be back after it was deleted

	Tables, Logs int       // that were read
	Problems     []Problem // what is wrong with files; at most 1,000
	MoreProblems int       // that are not in Problems

	Blocks     int     // of tables, whose keys or values cannot be read
	Ranges     []Range // where keys may be lost, or have older values; at most 1,000
	MoreRanges int     // that are not in Ranges

	Transactions uint64 // of logs, that are lost

	Values int   // whose keys are known, and which are lost
	Keys   []Key // of the first 1,000 of them

	Buckets []string // made in the root bucket, for data whose bucket is not known

	Entries, Bytes uint64 // written: keys with their values
}

// Problem is one thing that is wrong with a file.
type Problem struct {
	File   string
	Offset int64
	What   string
}

// Range is keys of one bucket in [Start, End). Empty bounds are none.
type Range struct {
	File       string
	Bucket     []string // the names that lead to it; none for the root bucket
	Start, End []byte
	Catalog    bool // not keys but buckets and sequences, of any bucket
	Unknown    bool // of all buckets, too, that Bucket does not lead to and no other range names
}

// Key is a key whose value is lost.
type Key struct {
	Bucket  []string
	Key     []byte
	Catalog bool // it is the name of a bucket, or a sequence: Key is as it is stored
	Why     string
}

// recorder collects what a report says. What it needs names of buckets for waits until all of the
// catalog is known.
type recorder struct {
	made    Report
	spans   []fileSpan
	keys    []lostKey
	catalog *catalog
}

// fileSpan is internal keys of which a damaged file may have had some.
type fileSpan struct {
	file string
	span keyspace.Span
}

// lostKey is an internal key whose value is lost, and why.
type lostKey struct {
	key []byte
	why string
}

func (r *recorder) problem(file string, offset int64, what string) {
	if len(r.made.Problems) == listMax {
		r.made.MoreProblems++
		return
	}
	r.made.Problems = append(r.made.Problems, Problem{file, offset, what})
}

// damage is problem with an error.
func (r *recorder) damage(file string, err error) {
	offset := int64(0)
	if damage := (*corrupt.Error)(nil); errors.As(err, &damage) {
		offset = damage.Offset
	}
	r.problem(file, offset, reasonOf(err))
}

// unread notes that n bytes of a file cannot be read, of which the hole has the first.
func (r *recorder) unread(file string, n int64, h vfs.Hole) {
	err := h.Err
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	r.problem(file, h.At, fmt.Sprintf("%d bytes cannot be read: %v", n, err))
}

// older notes that all of the database may be older than it was last.
func (r *recorder) older(file, why string) {
	r.made.Older = true
	r.problem(file, 0, why)
}

func (r *recorder) surplus(file string) {
	r.older(file, "it is newer than the manifest, which lacks its end, unless a crash has left the "+
		"table before it counted")
}

// span notes that keys in the span may be lost, or have older values.
func (r *recorder) span(file string, span keyspace.Span) {
	if len(r.spans) == listMax {
		r.made.MoreRanges++
		return
	}
	r.spans = append(r.spans, fileSpan{file, span})
}

func (r *recorder) value(key []byte, why string) {
	r.made.Values++
	if len(r.keys) < listMax {
		r.keys = append(r.keys, lostKey{key, why})
	}
}

func (r *recorder) log(name string, d wal.Damage, lost, after uint64) {
	r.made.Transactions += lost
	if d.Unread > 0 {
		r.unread(name, d.Unread, vfs.Hole{At: d.Hole, Err: d.HoleErr})
	}
	if d.Gaps > 0 {
		r.made.Older = true
		r.problem(name, d.First, fmt.Sprintf("from here on, %d bytes are damaged, in places: %d",
			d.Bytes, d.Gaps))
	}
	if lost > 0 {
		r.older(name, fmt.Sprintf("%d transactions after commit %d are lost; later ones were applied",
			lost, after))
	}
	if d.Tail > 0 {
		r.older(name, fmt.Sprintf("its last %d bytes are damaged, or were never completely written",
			d.Tail))
	}
}

// lost reports whether anything is lost, or may be, once all of the catalog is known.
func (r *recorder) lost() bool {
	return r.made.Older || r.made.Blocks > 0 || r.made.Transactions > 0 || r.made.Values > 0 ||
		len(r.spans)+r.made.MoreRanges > 0 || len(r.catalog.lost) > 0
}

// report returns the report with the names of buckets.
func (r *recorder) report() *Report {
	for _, k := range r.keys {
		r.made.Keys = append(r.made.Keys, r.keyOf(k))
	}
	for _, s := range r.spans {
		r.ranges(s)
	}
	r.made.Buckets = r.catalog.lostNames()
	return &r.made
}

func (r *recorder) keyOf(k lostKey) Key {
	id, ok := keyspace.BucketOf(k.key)
	path, known := r.catalog.path(id)
	if prefix := keyspace.AppendPrefix(nil, id); ok && known && keyspace.IsData(k.key) {
		return Key{Bucket: path, Key: k.key[len(prefix):], Why: k.why}
	}
	return Key{Key: k.key, Catalog: true, Why: k.why}
}
