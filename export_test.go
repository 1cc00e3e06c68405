package stoat

import (
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs"
)

// OpenFS is [Open] on any file system, with an engine tuned for the occasion.
func OpenFS(fs vfs.FS, dir string, opts *Options, t engine.Tuning) (*DB, error) {
	return open(fs, dir, opts, t)
}
