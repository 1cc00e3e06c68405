package faultfs

import "github.com/stoatdb/stoat/internal/vfs"

// files is files whose operations go through the hook.
type files struct {
	fs    *FS
	inner vfs.Files
}

// Create implements vfs.Files.
func (f files) Create(name string) (vfs.File, error) {
	if err := f.fs.before(Op{Kind: Create, Name: name}); err != nil {
		return nil, err
	}
	return f.wrap(name)(f.inner.Create(name))
}

// Open implements vfs.Files.
func (f files) Open(name string) (vfs.File, error) {
	if err := f.fs.before(Op{Kind: Open, Name: name}); err != nil {
		return nil, err
	}
	return f.wrap(name)(f.inner.Open(name))
}

// wrap returns a function that makes an inner file one whose operations go through the hook.
func (f files) wrap(name string) func(vfs.File, error) (vfs.File, error) {
	return func(inner vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		return &file{fs: f.fs, inner: inner, name: name}, nil
	}
}

// Remove implements vfs.Files.
func (f files) Remove(name string) error {
	if err := f.fs.before(Op{Kind: Remove, Name: name}); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// List implements vfs.Files.
func (f files) List(dir string) ([]string, error) {
	if err := f.fs.before(Op{Kind: List, Name: dir}); err != nil {
		return nil, err
	}
	return f.inner.List(dir)
}

// IsRegular implements vfs.Files. It is no operation of its own for the hook.
func (f files) IsRegular(name string) (bool, error) { return f.inner.IsRegular(name) }

// SyncDir implements vfs.Files.
func (f files) SyncDir(dir string) error {
	if err := f.fs.before(Op{Kind: SyncDir, Name: dir}); err != nil {
		return err
	}
	return f.inner.SyncDir(dir)
}

// Lock implements vfs.Files.
func (f files) Lock(name string) (vfs.Lock, error) {
	if err := f.fs.before(Op{Kind: Lock, Name: name}); err != nil {
		return nil, err
	}
	inner, err := f.inner.Lock(name)
	if err != nil {
		return nil, err
	}
	return &lock{fs: f.fs, inner: inner, name: name}, nil
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

// Named implements vfs.Lock. It is no operation of its own for the hook.
func (l *lock) Named() error { return l.inner.Named() }

// Close implements io.Closer. It releases the lock even if the hook lets it fail.
func (l *lock) Close() error { return l.fs.close(l.name, l.inner) }
