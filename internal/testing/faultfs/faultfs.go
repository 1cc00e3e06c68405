// Package faultfs wraps a file system so that its operations can be watched and made to fail.
//
// [New] takes a [Hook], a function that is called before each operation and whose error the
// operation returns instead of being done. [FailAt], [ShortWriteAt] and [Quota] are hooks for
// common faults; a hook may as well only look, or copy the file system below. Everything is safe
// for concurrent use if the hook is. The package changes no bytes that are read.
package faultfs

import (
	"io/fs"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/vfs"
)

// FS is a file system whose operations go through a hook.
type FS struct {
	files
	inner vfs.FS
	hook  Hook
	count atomic.Int64
}

var _ vfs.FS = (*FS)(nil)

// New returns a file system that calls hook before each operation on inner.
func New(inner vfs.FS, hook Hook) *FS {
	f := &FS{inner: inner, hook: hook}
	f.files = files{f, inner}
	return f
}

// Count returns how many operations there have been, failed ones included.
func (f *FS) Count() int64 { return f.count.Load() }

// before numbers an operation and asks the hook. The error names the operation.
func (f *FS) before(op Op) error {
	op.Index = f.count.Add(1) - 1
	if err := f.hook(op); err != nil {
		return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
	}
	return nil
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(dir string) error {
	if err := f.before(Op{Kind: MkdirAll, Name: dir}); err != nil {
		return err
	}
	return f.inner.MkdirAll(dir)
}

// OpenFolder implements vfs.FS.
func (f *FS) OpenFolder(dir string) (vfs.Folder, error) {
	if err := f.before(Op{Kind: OpenFolder, Name: dir}); err != nil {
		return nil, err
	}
	inner, err := f.inner.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	return &folder{files{f, inner}, inner}, nil
}
