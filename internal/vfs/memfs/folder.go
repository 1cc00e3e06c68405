package memfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/vfs"
)

// folder is an open directory.
type folder struct {
	files
	path   string // that it was opened by, clean
	dir    *directory
	closed atomic.Bool
}

// OpenFolder implements vfs.FS.
func (f *FS) OpenFolder(dir string) (vfs.Folder, error) {
	if dir == "" {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrInvalid}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path := filepath.Clean(dir)
	d := f.dir(path)
	if d == nil {
		return nil, missing("open", dir)
	}
	opened := &folder{path: path, dir: d}
	opened.files = files{f, opened}
	return opened, nil
}

// directory returns the directory, if that is what has the given clean path.
func (f *folder) directory(op, path, name string) (*directory, error) {
	switch {
	case f.closed.Load():
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrClosed}
	case path != f.path:
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return f.dir, nil
}

func (f *folder) Close() error {
	if f.closed.Swap(true) {
		return &fs.PathError{Op: "close", Path: f.path, Err: fs.ErrClosed}
	}
	return nil
}

func (f *folder) Named() error {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	now := f.fs.dirs[f.path]
	if now == f.dir {
		return nil
	}
	above := f.fs.dirs[filepath.Dir(f.path)]
	if now == nil && (above == nil || above.entries[filepath.Base(f.path)].now == nil) {
		return missing("verify", f.path)
	}
	return &fs.PathError{Op: "verify", Path: f.path, Err: vfs.ErrReplaced}
}

func (f *folder) Is(other vfs.Folder) bool {
	o, ok := other.(*folder)
	return ok && o.dir == f.dir
}

func (f *folder) Link(name string, to vfs.Folder, as string) error {
	t, ok := to.(*folder)
	if !ok || t.fs != f.fs {
		return &fs.PathError{Op: "link", Path: as, Err: errors.ErrUnsupported}
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	_, n, err := f.find("link", name)
	if err != nil {
		return err
	}
	dir, base, err := t.split("link", as)
	if err != nil {
		return err
	}
	if dir.entries[base].now != nil || f.fs.isDir(filepath.Clean(as)) {
		return &fs.PathError{Op: "link", Path: as, Err: fs.ErrExist}
	}
	dir.put(base, n)
	return nil
}

func (f *folder) Same(name string, other vfs.Folder, as string) bool {
	o, ok := other.(*folder)
	if !ok || o.fs != f.fs {
		return false
	}
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	_, first, err := f.find("verify", name)
	_, second, errSecond := o.find("verify", as)
	return err == nil && errSecond == nil && first == second
}
