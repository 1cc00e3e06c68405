// Package cryptfs is a file system whose database files are encrypted on the one below it.
//
// Readers and writers see the plain bytes; only ciphertext reaches the file system below. A file
// starts with a header of 80 bytes:
//
//	 0  magic    8 bytes, STOATENC
//	 8  version  u32, 1
//	12  layout   u32: pages (1) or chunks (2)
//	16  data id  8 bytes, of the data key
//	24  salt     32 random bytes
//	56  tag      16 bytes, proves the key and the header
//	72  zero     u32
//	76  checksum u32, CRC-32C of the 76 bytes before
//
// A folder has one random data key. Two files, KEY-000001 and KEY-000002, have it encrypted with
// the user's key: wrapped. To change that key, they are replaced, and nothing else.
//
// The keys of a file come from the data key and the salt, so no two files share any. Tables and
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
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/vfs"
)

// FS encrypts the database files of a file system.
type FS struct {
	files
	inner vfs.FS
	key   *Key
	seed  *dataKey                // that new folders get; nil for random ones
	last  atomic.Pointer[keyring] // of the folder that was opened last
}

var _ vfs.FS = (*FS)(nil)

// New returns a file system that keeps files on inner, encrypted. Each folder gets a random data
// key, which is wrapped with key.
func New(inner vfs.FS, key *Key) *FS {
	f := &FS{inner: inner, key: key}
	f.files = files{inner, new(sync.Map),
		func(dir string) *keyring { return f.keyring(inner, dir) }}
	return f
}

// NewLike returns what New does with the key of another file system, but a new folder gets the data
// key of the one that was opened there last: so files can be linked there, and either folder has
// wrappings for both.
func NewLike(inner vfs.FS, like *FS) *FS {
	f := New(inner, like.key)
	if ring := like.last.Load(); ring != nil {
		f.seed = ring.known()
	}
	return f
}

func (f *FS) keyring(in vfs.Files, dir string) *keyring {
	return &keyring{files: in, dir: dir, key: f.key, seed: f.seed}
}

// CheckKeys returns all that is wrong with the wrappings in the folder that was opened last.
// Without the last of them, the folder is lost.
func (f *FS) CheckKeys() []error {
	if ring := f.last.Load(); ring != nil {
		return ring.check()
	}
	return nil
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(dir string) error { return f.inner.MkdirAll(dir) }

// Room implements vfs.Roomy.
func (f *FS) Room(dir string) (bytes int64, known bool) { return vfs.Room(f.inner, dir) }

// OpenFolder implements vfs.FS.
func (f *FS) OpenFolder(dir string) (vfs.Folder, error) {
	inner, err := f.inner.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	ring := f.keyring(inner, dir)
	f.last.Store(ring)
	return &folder{files{inner, f.live, func(string) *keyring { return ring }}, inner, ring}, nil
}

// folder is a folder whose database files are encrypted.
type folder struct {
	files
	inner vfs.Folder
	ring  *keyring
}

// InOrder implements vfs.Ordered.
func (f *folder) InOrder() bool { return true }

func (f *folder) Close() error { return f.inner.Close() }

func (f *folder) Named() error { return f.inner.Named() }

func (f *folder) Is(other vfs.Folder) bool { return f.inner.Is(below(other)) }

// Link implements vfs.Folder. The second name stands for the same bytes, under the same data key:
// if the other folder has another one, or none, the error is errors.ErrUnsupported.
func (f *folder) Link(name string, to vfs.Folder, as string) error {
	if _, encrypted := layoutOf(name); !encrypted {
		return f.inner.Link(name, below(to), as)
	}
	other, ok := to.(*folder)
	if !ok {
		return fmt.Errorf("link %s to where nothing is encrypted: %w", name, errors.ErrUnsupported)
	}
	data, err := f.ring.require()
	if err != nil {
		return err
	}
	theirs, err := other.ring.establish()
	if err != nil {
		return err
	}
	if data.id != theirs.id {
		return fmt.Errorf("link %s to a folder with another data key: %w", name, errors.ErrUnsupported)
	}
	return f.inner.Link(name, other.inner, as)
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
