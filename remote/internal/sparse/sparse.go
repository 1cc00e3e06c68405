// Package sparse shows a folder of a database some of whose files are only in a store, as if all
// were in the folder.
//
// A file that is in the folder is read there, and any other table, value file or log segment is
// looked for in the store when it is opened. Once the folder is closed, each of them is: whoever
// reads on has opened what is only in the folder. Listings, and everything that changes files, are
// those of the folder. Whether the store has what the folder lacks, whoever opens the database must
// know. Everything is safe for concurrent use.
package sparse

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Far opens files of a database that are in a store.
type Far interface {
	vfs.Sized
	// Open opens a file whose size is not known.
	Open(name string) (vfs.File, error)
}

// Over returns a file system whose folders open in far what they lack.
func Over(local vfs.FS, far Far) vfs.FS { return &files{local, far} }

// files is a file system with such folders.
type files struct {
	vfs.FS
	far Far
}

// OpenFolder implements [vfs.FS].
func (f *files) OpenFolder(dir string) (vfs.Folder, error) {
	opened, err := f.FS.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	return &openFolder{opened, f.far}, nil
}

// openFolder is a folder that lacks files.
type openFolder struct {
	vfs.Folder
	far Far
}

var _ interface {
	vfs.Sized
	vfs.Sparse
} = (*openFolder)(nil)

// Open implements [vfs.Files].
func (f *openFolder) Open(name string) (vfs.File, error) {
	file, err := f.Folder.Open(name)
	if toAsk(name, err) {
		return f.far.Open(name)
	}
	return file, err
}

// OpenSized implements [vfs.Sized].
func (f *openFolder) OpenSized(name string, size int64) (vfs.File, error) {
	file, err := vfs.OpenSized(f.Folder, name, size)
	if toAsk(name, err) {
		return f.far.OpenSized(name, size)
	}
	return file, err
}

// Elsewhere implements [vfs.Sparse].
func (f *openFolder) Elsewhere(name string) bool {
	_, err := f.IsRegular(name)
	return isFar(name, err)
}

// toAsk reports whether the store is to be asked for a file that the folder does not open.
func toAsk(name string, err error) bool {
	return isFar(name, err) || holdsData(name) && errors.Is(err, fs.ErrClosed)
}

// isFar reports whether a file is only in the store, if anywhere, as err says that it is not in the
// folder. A closed folder does not say that.
func isFar(name string, err error) bool { return holdsData(name) && errors.Is(err, fs.ErrNotExist) }

// holdsData reports whether a file by this name may be in the store.
func holdsData(name string) bool {
	kind, _ := folder.Parse(filepath.Base(name))
	return kind.HoldsData()
}

// Is implements [vfs.Folder].
func (f *openFolder) Is(other vfs.Folder) bool { return f.Folder.Is(own(other)) }

// Link implements [vfs.Folder].
func (f *openFolder) Link(name string, to vfs.Folder, as string) error {
	return f.Folder.Link(name, own(to), as)
}

// Same implements [vfs.Folder].
func (f *openFolder) Same(name string, other vfs.Folder, as string) bool {
	return f.Folder.Same(name, own(other), as)
}

// own returns the folder itself, without what is elsewhere.
func own(other vfs.Folder) vfs.Folder {
	if sparse, ok := other.(*openFolder); ok {
		return sparse.Folder
	}
	return other
}
