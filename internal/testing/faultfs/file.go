package faultfs

import (
	"errors"
	"io"

	"github.com/stoatdb/stoat/internal/vfs"
)

// file is a file whose operations go through the hook.
type file struct {
	fs    *FS
	inner vfs.File
	name  string
}

var _ vfs.File = (*file)(nil)

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.before(ReadAt, off, len(p)); err != nil {
		return 0, err
	}
	return f.inner.ReadAt(p, off)
}

// WriteAt implements io.WriterAt. If the hook returns a [ShortWrite], it writes that much.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	err := f.before(WriteAt, off, len(p))
	if err == nil {
		return f.inner.WriteAt(p, off)
	}
	var short *ShortWrite
	if !errors.As(err, &short) {
		return 0, err
	}
	n, writeErr := f.inner.WriteAt(p[:min(len(p), short.Bytes)], off)
	return n, errors.Join(err, writeErr)
}

// Close implements io.Closer. It closes the file even if the hook lets it fail.
func (f *file) Close() error { return f.fs.close(f.name, f.inner) }

// close closes a file or a lock, whatever the hook says, so that nothing is left open.
func (f *FS) close(name string, inner io.Closer) error {
	err := f.before(Op{Kind: Close, Name: name})
	return errors.Join(err, inner.Close())
}

// Sync implements vfs.File.
func (f *file) Sync() error {
	if err := f.before(Sync, 0, 0); err != nil {
		return err
	}
	return f.inner.Sync()
}

// Size implements vfs.File.
func (f *file) Size() (int64, error) {
	if err := f.before(Size, 0, 0); err != nil {
		return 0, err
	}
	return f.inner.Size()
}

// StartSync implements vfs.File. It is no operation that can fail.
func (f *file) StartSync(offset, n int64) { f.inner.StartSync(offset, n) }

// Truncate implements vfs.File.
func (f *file) Truncate(size int64) error {
	if err := f.before(Truncate, size, 0); err != nil {
		return err
	}
	return f.inner.Truncate(size)
}

// Preallocate implements vfs.File.
func (f *file) Preallocate(size int64) error {
	if err := f.before(Preallocate, size, 0); err != nil {
		return err
	}
	return f.inner.Preallocate(size)
}

// Map implements vfs.File.
func (f *file) Map(size int64) (data []byte, unmap func() error, err error) {
	if err := f.before(Map, size, 0); err != nil {
		return nil, nil, err
	}
	return f.inner.Map(size)
}

// Named implements vfs.File. It is no operation of its own for the hook.
func (f *file) Named() error { return f.inner.Named() }

func (f *file) before(kind Kind, offset int64, bytes int) error {
	return f.fs.before(Op{Kind: kind, Name: f.name, Offset: offset, Bytes: bytes})
}
