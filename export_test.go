package stoat

import (
	"context"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// OpenFS is [Open] on any file system, with an engine tuned for the occasion.
func OpenFS(fs vfs.FS, dir string, opts *Options, t engine.Tuning) (*DB, error) {
	return open(fs, dir, opts, t)
}

// BackupFS is [DB.Backup] or [DB.BackupLinked] to any file system.
func (db *DB) BackupFS(ctx context.Context, fs vfs.FS, dir string, link bool) error {
	return db.engine.Backup(ctx, fs, dir, link)
}

// SalvageFS is [Salvage] on any file system, with sizes for the occasion.
func SalvageFS(
	ctx context.Context, fs vfs.FS, src, dst string, sizes salvage.Sizes,
) (*SalvageReport, error) {
	return salvageOn(ctx, fs, src, dst, sizes)
}

// OpenTunedMemory is [OpenMemory] with an engine tuned for the occasion.
func OpenTunedMemory(opts *Options, t engine.Tuning) (*DB, error) {
	o, err := opts.engine()
	if err != nil {
		return nil, err
	}
	o.Volatile, o.Tuning = true, t
	return start(memfs.New(), "memory", o)
}
