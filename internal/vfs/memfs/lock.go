package memfs

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/stoatdb/stoat/internal/vfs"
)

// lock is a held lock.
type lock struct {
	fs   *FS
	dir  *directory
	name string
	file *node // nil when closed; guarded by the mutex of fs
}

// Lock implements vfs.Files. No other process can hold the lock.
func (f files) Lock(name string) (vfs.Lock, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	dir, n, err := f.find("lock", name)
	if err != nil {
		return nil, err
	}
	if f.fs.locks[n] {
		return nil, fmt.Errorf("lock %s: %w: already open in this process", name, vfs.ErrLocked)
	}
	f.fs.locks[n] = true
	return &lock{fs: f.fs, dir: dir, name: name, file: n}, nil
}

func (l *lock) Named() error {
	l.fs.mu.RLock()
	defer l.fs.mu.RUnlock()
	if l.file == nil {
		return nil
	}
	return l.dir.holds(l.name, l.file)
}

func (l *lock) Announce() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.file == nil {
		return &fs.PathError{Op: "announce", Path: l.name, Err: fs.ErrClosed}
	}
	line := strconv.Itoa(os.Getpid()) + "\n"
	l.file.writeAt([]byte(line), 0)
	l.file.truncate(int64(len(line)))
	return nil
}

func (l *lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.file == nil {
		return &fs.PathError{Op: "unlock", Path: l.name, Err: fs.ErrClosed}
	}
	delete(l.fs.locks, l.file)
	l.file = nil
	return nil
}
