// Package cryptfs is a file system whose database files are encrypted on the one below it.
//
// Readers and writers see the plain bytes; only ciphertext reaches the file system below. A file
// starts with a header of 80 bytes:
//
//	 0  magic    8 bytes, STOATENC
//	 8  version  u32, 1
//	12  layout   u32: pages (1) or chunks (2)
//	16  key id   8 bytes, of the key that the file is under
//	24  salt     32 random bytes
//	56  tag      16 bytes, proves the key and the header
//	72  zero     u32
//	76  checksum u32, CRC-32C of the 76 bytes before
//
// The keys of a file come from the user's key and the salt, so no two files share any. Tables and
// value files, which are written once and in order, are pages of 4 KiB that are found by their
// number. Log segments and manifests, which are synced at any byte and may be torn, are chunks: one
// or more for each write, never written again. Everything else, which holds no data, is passed
// through.
//
// Files are written front to back, each byte once, by the process that creates them; what is
// encrypted at an offset of a file is therefore encrypted once, and the offset is the nonce. After
// a failed write, a file takes no more. Files are never mapped.
//
// docs/design/encryption.md has the reasons. Safe for concurrent use, as package vfs wants it.
package cryptfs

import (
	"sync"

	"github.com/stoatdb/stoat/internal/vfs"
)

// FS encrypts the database files of a file system.
type FS struct {
	files
	inner vfs.FS
}

var _ vfs.FS = (*FS)(nil)

// New returns a file system that keeps files on inner, encrypted.
func New(inner vfs.FS, key *Key) *FS {
	return &FS{files{inner, key, new(sync.Map)}, inner}
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(dir string) error { return f.inner.MkdirAll(dir) }

// OpenFolder implements vfs.FS.
func (f *FS) OpenFolder(dir string) (vfs.Folder, error) {
	inner, err := f.inner.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	return &folder{files{inner, f.key, f.live}, inner}, nil
}

// folder is a folder whose database files are encrypted.
type folder struct {
	files
	inner vfs.Folder
}

func (f *folder) Close() error { return f.inner.Close() }

func (f *folder) Named() error { return f.inner.Named() }

func (f *folder) Is(other vfs.Folder) bool { return f.inner.Is(below(other)) }

// Link implements vfs.Folder. The second name stands for the same bytes, under the same key.
func (f *folder) Link(name string, to vfs.Folder, as string) error {
	return f.inner.Link(name, below(to), as)
}

func (f *folder) Same(name string, other vfs.Folder, as string) bool {
	return f.inner.Same(name, below(other), as)
}

// below returns the folder that holds the bytes of another one.
func below(other vfs.Folder) vfs.Folder {
	if f, ok := other.(*folder); ok {
		return f.inner
	}
	return other
}
