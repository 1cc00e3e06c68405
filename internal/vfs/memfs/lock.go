package memfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stoatdb/stoat/internal/vfs"
)

// lock is a held lock.
type lock struct {
	fs   *FS
	path string
	file *node // nil when closed; guarded by the mutex of fs
}

// Lock implements vfs.FS. No other process can hold the lock.
func (f *FS) Lock(name string) (vfs.Lock, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := f.split("lock", name)
	if err != nil {
		return nil, err
	}
	path := filepath.Clean(name)
	if f.locks[path] {
		return nil, fmt.Errorf("lock %s: %w: already open in this process", name, vfs.ErrLocked)
	}
	n := f.dirs[dir][base].now
	if n == nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: fs.ErrNotExist}
	}
	f.locks[path] = true
	return &lock{fs: f, path: path, file: n}, nil
}

// Announce implements vfs.Lock.
func (l *lock) Announce() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.file == nil {
		return &fs.PathError{Op: "announce", Path: l.path, Err: fs.ErrClosed}
	}
	line := strconv.Itoa(os.Getpid()) + "\n"
	l.file.writeAt([]byte(line), 0)
	l.file.truncate(int64(len(line)))
	return nil
}

// Close implements io.Closer.
func (l *lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.file == nil {
		return &fs.PathError{Op: "unlock", Path: l.path, Err: fs.ErrClosed}
	}
	l.file = nil
	delete(l.fs.locks, l.path)
	return nil
}
