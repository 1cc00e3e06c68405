package faultfs

import "github.com/stoatdb/stoat/internal/vfs"

// folder is a folder in which operations go through the hook.
type folder struct {
	files
	inner vfs.Folder
}

// Close implements io.Closer. Like the next three, it is no operation of its own for the hook.
func (f *folder) Close() error { return f.inner.Close() }

// Named implements vfs.Folder.
func (f *folder) Named() error { return f.inner.Named() }

// Is implements vfs.Folder.
func (f *folder) Is(other vfs.Folder) bool { return f.inner.Is(below(other)) }

// Same implements vfs.Folder.
func (f *folder) Same(name string, other vfs.Folder, as string) bool {
	return f.inner.Same(name, below(other), as)
}

// Link implements vfs.Folder.
func (f *folder) Link(name string, to vfs.Folder, as string) error {
	if err := f.fs.before(Op{Kind: Link, Name: as}); err != nil {
		return err
	}
	return f.inner.Link(name, below(to), as)
}

// below returns the folder that f wraps, or f itself if it is not of this package.
func below(f vfs.Folder) vfs.Folder {
	if wrapped, ok := f.(*folder); ok {
		return wrapped.inner
	}
	return f
}
