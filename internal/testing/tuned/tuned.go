// Package tuned opens databases with the engine's sizes shrunk, so that what is rare in real life
// (flushes, compactions, spills, new manifests) happens all the time, and on any file system, so
// that tests can break that.
//
// Users have no such options: the sizes are constants to them. The package reaches past the public
// API through package hook, so only tests may use it.
package tuned

import (
	"context"
	"io"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Open is [stoat.Open] on any file system, with a tuned engine.
func Open(fs vfs.FS, dir string, opts *stoat.Options, t engine.Tuning) (*stoat.DB, error) {
	opts = copied(opts)
	defer hook.Attach(opts, hook.Settings{FS: fs, Tuning: t})()
	return stoat.Open(dir, opts)
}

// OpenMemory is [stoat.OpenMemory] with a tuned engine.
func OpenMemory(opts *stoat.Options, t engine.Tuning) (*stoat.DB, error) {
	opts = copied(opts)
	defer hook.Attach(opts, hook.Settings{Tuning: t})()
	return stoat.OpenMemory(opts)
}

// copied returns a copy of the options, so that nobody else passes the pointer.
func copied(opts *stoat.Options) *stoat.Options {
	if opts == nil {
		return new(stoat.Options)
	}
	own := *opts
	return &own
}

// Backup is [stoat.DB.Backup], or [stoat.DB.BackupLinked] if link is set, to any file system.
func Backup(ctx context.Context, db *stoat.DB, fs vfs.FS, dir string, link bool) error {
	ctx = hook.With(ctx, hook.Settings{FS: fs})
	if link {
		return db.BackupLinked(ctx, dir)
	}
	return db.Backup(ctx, dir)
}

// RestoreFrom is [stoat.RestoreFrom] on any file system.
func RestoreFrom(ctx context.Context, r io.Reader, fs vfs.FS, dir string) error {
	return stoat.RestoreFrom(hook.With(ctx, hook.Settings{FS: fs}), r, dir)
}

// Salvage is [stoat.Salvage] on any file system, with any sizes.
func Salvage(
	ctx context.Context, fs vfs.FS, src, dst string, sizes salvage.Sizes,
) (*stoat.SalvageReport, error) {
	return stoat.Salvage(hook.With(ctx, hook.Settings{FS: fs, Sizes: sizes}), src, dst)
}

// Sizes returns tunings of very different kinds; the last one is the default.
func Sizes() []engine.Tuning {
	return []engine.Tuning{
		{ // everything at once: a handful of entries is a memtable
			MemtableBytes: 1 << 10, TableBytes: 1 << 10, BlockBytes: 128, YoungRuns: 2, OwnRuns: 2,
			SpillBytes: 512, SampleBytes: 1 << 10, JournalBytes: 200, IdleAfter: time.Nanosecond,
			DeferredBytes: 300, CloseBytes: 500, PartBytes: 1 << 10, Passed: 1,
		},
		{ // log segments and value files of a few values, any garbage is too much
			MemtableBytes: 4 << 10, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 2, OwnRuns: 2,
			SampleBytes: 1 << 10, JournalBytes: 1 << 10, IdleAfter: time.Nanosecond,
			ValueBytes: 1 << 10, Garbage: 1, RestBytes: 1, RestAfter: time.Millisecond,
			DeferredBytes: 2 << 10, CloseBytes: 4 << 10, PartBytes: 3 << 10, Passed: 2,
		},
		{ // compactions wait until they must
			MemtableBytes: 16 << 10, TableBytes: 8 << 10, BlockBytes: 512, YoungRuns: 3,
			SpillBytes: 8 << 10, SampleBytes: 2 << 10, JournalBytes: 4 << 10, IdleAfter: time.Hour,
		},
		{ // transactions stay in memory, compactions come soon
			MemtableBytes: 256 << 10, TableBytes: 64 << 10, YoungRuns: 2, ValueBytes: 128 << 10,
			Garbage: 32 << 10, IdleAfter: time.Millisecond, PartBytes: 128 << 10,
		},
		{},
	}
}
