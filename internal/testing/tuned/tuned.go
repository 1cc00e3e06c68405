// Package tuned opens databases with the engine's sizes shrunk, so that what is rare in real life
// (flushes, compactions, spills, new manifests) happens all the time, and on any file system, so
// that tests can break that.
//
// Users have no such options: the sizes are constants to them. The package reaches past the public
// API, to the functions behind it, in the one way that leaves the API as it is: by their names, in
// the linker. So nothing but tests may use it.
package tuned

import (
	"context"
	"io"
	"time"
	_ "unsafe" // for the linker's directive

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Open is [stoat.Open] on any file system, with an engine tuned for the occasion.
//
//go:linkname Open github.com/stoatdb/stoat.open
func Open(fs vfs.FS, dir string, opts *stoat.Options, t engine.Tuning) (*stoat.DB, error)

// OpenMemory is [stoat.OpenMemory] with an engine tuned for the occasion.
//
//go:linkname OpenMemory github.com/stoatdb/stoat.openMemory
func OpenMemory(opts *stoat.Options, t engine.Tuning) (*stoat.DB, error)

// Backup is [stoat.DB.Backup], or [stoat.DB.BackupLinked] if link is set, to any file system.
//
//go:linkname Backup github.com/stoatdb/stoat.backupTo
func Backup(ctx context.Context, db *stoat.DB, fs vfs.FS, dir string, link bool) error

// RestoreFrom is [stoat.RestoreFrom] on any file system.
//
//go:linkname RestoreFrom github.com/stoatdb/stoat.restoreFrom
func RestoreFrom(ctx context.Context, r io.Reader, fs vfs.FS, dir string) error

// Salvage is [stoat.Salvage] on any file system, with sizes for the occasion.
//
//go:linkname Salvage github.com/stoatdb/stoat.salvageOn
func Salvage(
	ctx context.Context, fs vfs.FS, src, dst string, sizes salvage.Sizes,
) (*stoat.SalvageReport, error)

// Sizes returns tunings of very different kinds; the last one is the default.
func Sizes() []engine.Tuning {
	return []engine.Tuning{
		{ // everything at once: a handful of entries is a memtable
			MemtableBytes: 1 << 10, TableBytes: 1 << 10, BlockBytes: 128, YoungRuns: 2, OwnRuns: 2,
			SpillBytes: 512, SampleBytes: 1 << 10, JournalBytes: 200, IdleAfter: time.Nanosecond,
			DeferredBytes: 300, CloseBytes: 500,
			Passed: 1,
		},
		{ // log segments and value files of a few values, any garbage is too much
			MemtableBytes: 4 << 10, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 2, OwnRuns: 2,
			SampleBytes: 1 << 10, JournalBytes: 1 << 10, IdleAfter: time.Nanosecond,
			ValueBytes: 1 << 10, Garbage: 1, RestBytes: 1, RestAfter: time.Millisecond,
			DeferredBytes: 2 << 10, CloseBytes: 1 << 10, Passed: 2,
		},
		{ // compactions wait until they must
			MemtableBytes: 16 << 10, TableBytes: 8 << 10, BlockBytes: 512, YoungRuns: 3,
			SpillBytes: 8 << 10, SampleBytes: 2 << 10, JournalBytes: 4 << 10, IdleAfter: time.Hour,
		},
		{ // transactions stay in memory, compactions come soon
			MemtableBytes: 256 << 10, TableBytes: 64 << 10, YoungRuns: 2, ValueBytes: 128 << 10,
			Garbage: 32 << 10, IdleAfter: time.Millisecond,
		},
		{},
	}
}
