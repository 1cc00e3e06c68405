// Package tuned opens databases with the engine's sizes shrunk, so that what is rare in real life
// (flushes, merges, spills, new manifests) happens all the time.
//
// Users have no such options: the sizes are constants to them. The package reaches past the public
// API, to the function behind stoat.Open, in the one way that leaves the API as it is.
package tuned

import (
	"time"
	_ "unsafe" // for the linker's directive

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Open is [stoat.Open] on any file system, with an engine tuned for the occasion.
//
//go:linkname Open github.com/stoatdb/stoat.open
func Open(fs vfs.FS, dir string, opts *stoat.Options, t engine.Tuning) (*stoat.DB, error)

// Sizes returns tunings of very different kinds; the last one is the default.
func Sizes() []engine.Tuning {
	return []engine.Tuning{
		{ // everything at once: a handful of entries is a memtable
			MemtableBytes: 1 << 10, TableBytes: 1 << 10, BlockBytes: 128, YoungRuns: 2, OwnRuns: 2,
			SampleBytes: 1 << 10, JournalBytes: 200, IdleAfter: time.Nanosecond,
		},
		{ // log segments and value files of a few values, any garbage is too much
			MemtableBytes: 4 << 10, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 2, OwnRuns: 2,
			SampleBytes: 1 << 10, JournalBytes: 1 << 10, IdleAfter: time.Nanosecond,
			ValueBytes: 1 << 10, Garbage: 1, RestBytes: 1, RestAfter: time.Millisecond,
		},
		{ // merges wait until they must
			MemtableBytes: 16 << 10, TableBytes: 8 << 10, BlockBytes: 512, YoungRuns: 3,
			SampleBytes: 2 << 10, JournalBytes: 4 << 10, IdleAfter: time.Hour,
		},
		{ // transactions stay in memory, merges come soon
			MemtableBytes: 256 << 10, TableBytes: 64 << 10, YoungRuns: 2, ValueBytes: 128 << 10,
			Garbage: 32 << 10, IdleAfter: time.Millisecond,
		},
		{},
	}
}
