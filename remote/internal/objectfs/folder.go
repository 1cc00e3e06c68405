// Package objectfs shows the files of a database in a store as a folder, for reading only.
//
// A [Folder] finds files by the names that they have in a folder on a disk, and reads parts of them
// from a cache, or from the objects. What readers announce ([vfs.Distant]) is fetched ahead, in
// large parts, and reads of it wait for that. Files stay readable when their folder is closed, for
// as long as their objects exist.
//
// Folders and files are safe for concurrent use. Nothing here knows what is in a file, except that
// the end of a table is its index.
package objectfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/diskcache"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Folder is the files of a database in a store.
type Folder struct {
	*unwritable
	store   objstore.Store
	cache   *diskcache.Cache
	maker   func(number uint64) [16]byte
	missing atomic.Pointer[func()]
	ctx     context.Context // of what is fetched ahead
	cancel  context.CancelFunc
	flights flights
}

var _ vfs.Folder = (*Folder)(nil)

// New returns the folder of the files in a store, with a cache that it closes. The store decides
// how often a request is tried, and for how long. Before a file is opened, maker says who has made
// it, as [diskcache.ID] has it. When an object is missing, missing is called.
func New(
	store objstore.Store, cache *diskcache.Cache, maker func(number uint64) [16]byte, missing func(),
) *Folder {
	f := &Folder{store: store, cache: cache, maker: maker}
	f.missing.Store(&missing)
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// Unwatch has nobody told any more that an object is missing. The files, and with them the folder,
// are reachable until readers of tables are collected; if these were reachable from here, they
// never would be.
func (f *Folder) Unwatch() {
	none := func() {}
	f.missing.Store(&none)
}

// OpenSized implements [vfs.Sized]. It makes no request.
func (f *Folder) OpenSized(name string, size int64) (vfs.File, error) {
	kind, number := folder.Parse(filepath.Base(name))
	if kind != folder.Table && kind != folder.Values && kind != folder.Log {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{
		in: f, id: diskcache.ID{Kind: kind, Number: number, Maker: f.maker(number)},
		object: history.DataName(kind, number), size: size,
	}, nil
}

// Open implements [vfs.Files]. It asks for the size.
func (f *Folder) Open(name string) (vfs.File, error) {
	opened, err := f.OpenSized(name, 0)
	if err != nil {
		return nil, err
	}
	file := opened.(*file)
	listed, err := f.store.List(context.Background(), file.object, "", 1)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if len(listed) == 0 || listed[0].Name != file.object {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	file.size = listed[0].Size
	return file, nil
}

// List implements [vfs.Files].
func (f *Folder) List(string) (names []string, err error) {
	add := func(page []objstore.Object) error {
		for _, o := range page {
			names = append(names, o.Name[strings.LastIndexByte(o.Name, '/')+1:])
		}
		return nil
	}
	err = history.EachObject(context.Background(), f.store, history.DataPrefix, add)
	slices.Sort(names)
	return names, err
}

// IsRegular implements [vfs.Files].
func (f *Folder) IsRegular(name string) (bool, error) {
	_, err := f.Open(name)
	return err == nil, err
}

// Close implements [vfs.Folder].
func (f *Folder) Close() error { return nil }

// Named implements [vfs.Folder].
func (f *Folder) Named() error { return nil }

// Is implements [vfs.Folder].
func (f *Folder) Is(other vfs.Folder) bool {
	o, ok := other.(*Folder)
	return ok && o.store == f.store
}

// Link implements [vfs.Folder].
func (f *Folder) Link(string, vfs.Folder, string) error { return errors.ErrUnsupported }

// Same implements [vfs.Folder].
func (f *Folder) Same(string, vfs.Folder, string) bool { return false }
