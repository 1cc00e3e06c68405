package objectfs

import (
	"io/fs"

	"github.com/stoatdb/stoat/internal/vfs"
)

// unwritable refuses what changes files.
type unwritable struct{}

// Create implements [vfs.Files].
func (*unwritable) Create(name string) (vfs.File, error) { return nil, refuse("create", name) }

// Remove implements [vfs.Files].
func (*unwritable) Remove(name string) error { return refuse("remove", name) }

// SyncDir implements [vfs.Files].
func (*unwritable) SyncDir(dir string) error { return refuse("sync", dir) }

// Lock implements [vfs.Files].
func (*unwritable) Lock(name string) (vfs.Lock, error) { return nil, refuse("lock", name) }

// WriteAt implements [vfs.File].
func (f *file) WriteAt([]byte, int64) (int, error) { return 0, refuse("write", f.object) }

// Sync implements [vfs.File].
func (f *file) Sync() error { return refuse("sync", f.object) }

// StartSync implements [vfs.File].
func (f *file) StartSync(_, _ int64) {}

// Truncate implements [vfs.File].
func (f *file) Truncate(int64) error { return refuse("truncate", f.object) }

// Preallocate implements [vfs.File].
func (f *file) Preallocate(int64) error { return refuse("preallocate", f.object) }

func refuse(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
}
