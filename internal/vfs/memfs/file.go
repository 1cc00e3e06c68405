package memfs

import (
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/vfs"
)

// file is a handle of a file.
type file struct {
	fs       *FS
	dir      *directory // that it was opened in
	node     *node
	name     string
	writable bool
	closed   atomic.Bool
}

var _ vfs.File = (*file)(nil)

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check("read", off); err != nil {
		return 0, err
	}
	n := f.node.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if err := f.checkWrite("write", off); err != nil {
		return 0, err
	}
	if len(p) > 0 {
		f.node.writeAt(p, off)
	}
	return len(p), nil
}

// Close implements io.Closer. Like that of the operating system it syncs nothing.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	return nil
}

func (f *file) Sync() error {
	if err := f.check("sync", 0); err != nil {
		return err
	}
	f.node.sync()
	return nil
}

// StartSync implements vfs.File. It does nothing: a crash may keep what was not synced anyhow.
func (f *file) StartSync(int64, int64) {}

func (f *file) Size() (int64, error) {
	if err := f.check("stat", 0); err != nil {
		return 0, err
	}
	return f.node.size(), nil
}

func (f *file) Truncate(size int64) error {
	if err := f.checkWrite("truncate", size); err != nil {
		return err
	}
	f.node.truncate(size)
	return nil
}

// Preallocate implements vfs.File. It takes no memory.
func (f *file) Preallocate(size int64) error {
	if err := f.checkWrite("preallocate", max(size, 0)); err != nil {
		return err
	}
	f.node.grow(size)
	return nil
}

// Map implements vfs.File. It returns the file's own memory, copied into one piece at most once.
// Writing to the file may or may not change a map.
func (f *file) Map(size int64) (data []byte, unmap func() error, err error) {
	if err := f.check("map", size); err != nil {
		return nil, nil, err
	}
	data, ok := f.node.view(size)
	if !ok {
		return nil, nil, fmt.Errorf("map %d bytes of %s, which has fewer: %w",
			size, f.name, io.ErrUnexpectedEOF)
	}
	return data, func() error { return nil }, nil
}

func (f *file) Named() error {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	return f.dir.holds(f.name, f.node)
}

// check returns an error if the file is closed or the offset or size is negative.
func (f *file) check(op string, off int64) error {
	if f.closed.Load() {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrClosed}
	}
	if off < 0 {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrInvalid}
	}
	return nil
}

// checkWrite is check for what needs a file open for writing.
func (f *file) checkWrite(op string, off int64) error {
	if err := f.check(op, off); err != nil {
		return err
	}
	if !f.writable {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrPermission}
	}
	return nil
}
