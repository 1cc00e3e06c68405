// Package memfs is a file system in memory that can lose power.
//
// It serves databases in memory ([New]) and tests of crashes ([NewCrashable]). Copies of a file
// share its pages until one of them writes. A crashable file system remembers what was synced, of
// each file and of each directory, and [FS.Crash] returns what a power cut could leave.
//
// Everything is safe for concurrent use. Names that mean the same file are the same after
// filepath.Clean; there is no working directory, "." and the roots always exist. A directory can be
// renamed, at once durably, but not removed. There are no permissions and no limits.
package memfs

import (
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stoatdb/stoat/internal/vfs"
)

// Sizes of pages: large ones cost little to write through, small ones to copy after a sync.
const (
	pageBytes      = 256 << 10
	pageBytesCrash = 4 << 10
)

// FS is a file system in memory.
type FS struct {
	files
	crashable bool

	mu    sync.RWMutex
	dirs  map[string]*directory
	locks map[*node]bool // the lock files that are locked
}

// directory is the set of files in one directory by base name. Directories in it are found by their
// own names.
type directory struct{ entries map[string]entry }

func newDirectory() *directory { return &directory{make(map[string]entry)} }

// entry is what a directory says about a name: a file, or nothing if nil. An entry is in a
// directory if either of the two is a file.
type entry struct {
	now     *node
	durable *node // what a power cut cannot take; always nil if the file system is not crashable
}

var _ vfs.FS = (*FS)(nil)

// New returns an empty file system. It keeps no record of what was synced: a crash of it keeps
// everything.
func New() *FS {
	f := &FS{dirs: make(map[string]*directory), locks: make(map[*node]bool)}
	f.files.fs = f
	return f
}

// NewCrashable returns an empty file system that knows what was synced.
func NewCrashable() *FS {
	f := New()
	f.crashable = true
	return f
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var made []string
	for path := filepath.Clean(dir); !f.isDir(path); path = filepath.Dir(path) {
		if d := f.dirs[filepath.Dir(path)]; d != nil && d.entries[filepath.Base(path)].now != nil {
			return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrExist}
		}
		made = append(made, path)
	}
	for _, path := range made {
		f.dirs[path] = newDirectory()
	}
	return nil
}

// Rename gives a directory another path, which must be free, with all that is in it. Open files and
// folders stay what they are.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	from, to = filepath.Clean(from), filepath.Clean(to)
	if f.dirs[from] == nil || !f.isDir(filepath.Dir(to)) {
		return missing("rename", from)
	}
	if f.isDir(to) {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	for path, dir := range maps.Clone(f.dirs) {
		if rest, within := strings.CutPrefix(path, from+string(filepath.Separator)); within {
			delete(f.dirs, path)
			f.dirs[filepath.Join(to, rest)] = dir
		}
	}
	f.dirs[to] = f.dirs[from]
	delete(f.dirs, from)
	return nil
}

// Replace puts a copy into the place of a file, at once durably: one with the same bytes, which is
// another file all the same. Handles stay with the old one.
func (f *FS) Replace(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, old, err := f.find("replace", name)
	if err != nil {
		return err
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	n := newNode(f.crashable)
	n.now = old.now.share()
	n.low, n.high = n.now.size, n.now.size
	e := entry{now: n}
	if f.crashable {
		n.durable, e.durable = n.now.share(), n
	}
	dir.entries[filepath.Base(name)] = e
	return nil
}

// isDir reports whether there is a directory of this clean name.
func (f *FS) isDir(path string) bool {
	_, ok := f.dirs[path]
	return ok || filepath.Dir(path) == path
}

// dir returns the directory of this clean name, or nil. What always exists is made when needed.
func (f *FS) dir(path string) *directory {
	d := f.dirs[path]
	if d == nil && filepath.Dir(path) == path {
		d = newDirectory()
		f.dirs[path] = d
	}
	return d
}

// missing returns the error for a file or directory that is not there.
func missing(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}
