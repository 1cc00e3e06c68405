// Package run writes one sorted run: a stream of entries in key order, cut into tables, and the
// large values among them, cut into value files.
//
// Each entry of a flush or a compaction takes three steps through a [Writer]: a large value that
// does not compress moves to a value file (values.go); the entry waits in a sample of its bucket
// until the bucket's codec is chosen (sample.go, codec.go); and it is added to the open table
// (tables.go).
//
// Catalog entries and user data never share a table, so a job on one does not involve the other. A
// [Writer] is not safe for concurrent use. It syncs files but not the directory, and does not touch
// the manifest: the job returns the tables in an edit.
package run

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Config says where a run is written, and how.
type Config struct {
	FS          vfs.Files
	Dir         string
	Database    [16]byte
	NextNumber  func() uint64 // allocates file numbers
	TableBytes  int64         // a table ends when it reaches this size
	Reach       int64         // or points to this many bytes in value files; 0 for no limit
	BlockBytes  int           // as in [table.WriterOptions]
	Compress    bool          // compress blocks that shrink
	Patterns    bool          // consider encoding values one by one, with dictionaries
	SampleBytes int           // of a bucket that decide on its codec; 0 for the default
	Sampler     Sampler       // of the values that the run will have; may be nil
	Filter      bool          // give each table a filter; the bottom run does not need one
	Values      Values
	Cuts        [][]byte // ascending keys; no table has keys both below one and from it on

	// Dropped reports whether a bucket was dropped; its entries are left out. DropEpoch is the
	// manifest's epoch that Dropped reflects. A nil Dropped knows no dropped buckets.
	Dropped   func(id uint64) bool
	DropEpoch uint64

	Dictionaries []*block.Dictionary // that exist, ordered by number
}

// Output is the files of a finished run.
type Output struct {
	Tables       []*manifest.Table
	Values       []manifest.ValueFile
	Dictionaries []manifest.Dictionary // that the tables refer to
}
