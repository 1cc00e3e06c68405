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
	inner vfs.FS
	hook  Hook
	count atomic.Int64
}

var _ vfs.FS = (*FS)(nil)

// New returns a file system that calls hook before each operation on inner.
func New(inner vfs.FS, hook Hook) *FS { return &FS{inner: inner, hook: hook} }

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

// Create implements vfs.FS.
func (f *FS) Create(name string) (vfs.File, error) {
	if err := f.before(Op{Kind: Create, Name: name}); err != nil {
		return nil, err
	}
	return f.wrap(name)(f.inner.Create(name))
}

// Open implements vfs.FS.
func (f *FS) Open(name string) (vfs.File, error) {
	if err := f.before(Op{Kind: Open, Name: name}); err != nil {
		return nil, err
	}
	return f.wrap(name)(f.inner.Open(name))
}

// wrap returns a function that makes an inner file one whose operations go through the hook.
func (f *FS) wrap(name string) func(vfs.File, error) (vfs.File, error) {
	return func(inner vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		return &file{fs: f, inner: inner, name: name}, nil
	}
}

// Remove implements vfs.FS.
func (f *FS) Remove(name string) error {
	if err := f.before(Op{Kind: Remove, Name: name}); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// Link implements vfs.FS.
func (f *FS) Link(from, to string) error {
	if err := f.before(Op{Kind: Link, Name: to}); err != nil {
		return err
	}
	return f.inner.Link(from, to)
}

// Same implements vfs.FS. It is no operation that can fail.
func (f *FS) Same(a, b string) bool { return f.inner.Same(a, b) }

// List implements vfs.FS.
func (f *FS) List(dir string) ([]string, error) {
	if err := f.before(Op{Kind: List, Name: dir}); err != nil {
		return nil, err
	}
	return f.inner.List(dir)
}

// IsRegular implements vfs.FS. It is no operation of its own for the hook.
func (f *FS) IsRegular(name string) (bool, error) { return f.inner.IsRegular(name) }

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(dir string) error {
	if err := f.before(Op{Kind: MkdirAll, Name: dir}); err != nil {
		return err
	}
	return f.inner.MkdirAll(dir)
}

// SyncDir implements vfs.FS.
func (f *FS) SyncDir(dir string) error {
	if err := f.before(Op{Kind: SyncDir, Name: dir}); err != nil {
		return err
	}
	return f.inner.SyncDir(dir)
}

// Lock implements vfs.FS.
func (f *FS) Lock(name string) (vfs.Lock, error) {
	if err := f.before(Op{Kind: Lock, Name: name}); err != nil {
		return nil, err
	}
	inner, err := f.inner.Lock(name)
	if err != nil {
		return nil, err
	}
	return &lock{fs: f, inner: inner, name: name}, nil
}

// lock is a lock whose operations go through the hook.
type lock struct {
	fs    *FS
	inner vfs.Lock
	name  string
}

// Announce implements vfs.Lock.
func (l *lock) Announce() error {
	if err := l.fs.before(Op{Kind: Announce, Name: l.name}); err != nil {
		return err
	}
	return l.inner.Announce()
}

// Close implements io.Closer. It releases the lock even if the hook lets it fail.
func (l *lock) Close() error { return l.fs.close(l.name, l.inner) }
