// Package memfs is a file system in memory that can lose power.
//
// It serves databases that live in memory ([New]) and tests of crashes ([NewCrashable]). A file is
// a sequence of pages, most of them of equal size; copies of a file share its pages until one of
// them writes, so that a copy of a small file system costs microseconds. A crashable file system
// remembers what was synced, of each file and of each directory, and [FS.Crash] returns what a
// power cut could leave.
//
// Everything is safe for concurrent use. Names that mean the same file are the same after
// filepath.Clean; there is no working directory, "." and the roots always exist. There are no
// permissions, no limits, and no way to remove a directory.
package memfs

import (
	"io/fs"
	"path/filepath"
	"slices"
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
	crashable bool

	mu    sync.RWMutex
	dirs  map[string]directory
	locks map[string]bool // the lock files that are locked
}

// directory is the set of files in one directory by base name. Directories in it are found by their
// own names.
type directory map[string]entry

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
	return &FS{dirs: make(map[string]directory), locks: make(map[string]bool)}
}

// NewCrashable returns an empty file system that knows what was synced.
func NewCrashable() *FS {
	f := New()
	f.crashable = true
	return f
}

// Create implements vfs.FS.
func (f *FS) Create(name string) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := f.split("create", name)
	if err != nil {
		return nil, err
	}
	if f.dirs[dir][base].now != nil || f.isDir(filepath.Clean(name)) {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := newNode(f.crashable)
	f.put(dir, base, n)
	return &file{node: n, name: name, writable: true}, nil
}

// Open implements vfs.FS.
func (f *FS) Open(name string) (vfs.File, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	return &file{node: n, name: name}, nil
}

// Remove implements vfs.FS. Handles and maps of the file stay usable.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := f.split("remove", name)
	if err != nil {
		return err
	}
	e := f.dirs[dir][base]
	if e.now == nil {
		return missing("remove", name)
	}
	if e.durable == nil {
		delete(f.dirs[dir], base)
	} else {
		f.dirs[dir][base] = entry{durable: e.durable}
	}
	return nil
}

// Link implements vfs.FS.
func (f *FS) Link(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find("link", from)
	if err != nil {
		return err
	}
	dir, base, err := f.split("link", to)
	if err != nil {
		return err
	}
	if f.dirs[dir][base].now != nil || f.isDir(filepath.Clean(to)) {
		return &fs.PathError{Op: "link", Path: to, Err: fs.ErrExist}
	}
	f.put(dir, base, n)
	return nil
}

// Same implements vfs.FS.
func (f *FS) Same(a, b string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	first, second := filepath.Clean(a), filepath.Clean(b)
	if f.isDir(first) || f.isDir(second) {
		return first == second
	}
	n, err := f.find("stat", first)
	other, otherErr := f.find("stat", second)
	return err == nil && otherErr == nil && n == other
}

// List implements vfs.FS.
func (f *FS) List(dir string) ([]string, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	dir = filepath.Clean(dir)
	if !f.isDir(dir) {
		return nil, missing("list", dir)
	}
	var names []string
	for name, e := range f.dirs[dir] {
		if e.now != nil {
			names = append(names, name)
		}
	}
	for path := range f.dirs {
		if filepath.Dir(path) == dir && path != dir {
			names = append(names, filepath.Base(path))
		}
	}
	slices.Sort(names)
	return names, nil
}

// IsRegular implements vfs.FS. There are files and directories only.
func (f *FS) IsRegular(name string) (bool, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.isDir(filepath.Clean(name)) {
		return false, nil
	}
	dir, base, err := f.split("stat", name)
	if err != nil {
		return false, err
	}
	if f.dirs[dir][base].now == nil {
		return false, missing("stat", name)
	}
	return true, nil
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var made []string
	for path := filepath.Clean(dir); !f.isDir(path); path = filepath.Dir(path) {
		if f.dirs[filepath.Dir(path)][filepath.Base(path)].now != nil {
			return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrExist}
		}
		made = append(made, path)
	}
	for _, path := range made {
		f.dirs[path] = make(directory)
	}
	return nil
}

// SyncDir implements vfs.FS.
func (f *FS) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir = filepath.Clean(dir)
	if !f.isDir(dir) {
		return missing("sync", dir)
	}
	if !f.crashable {
		return nil
	}
	entries := f.dirs[dir]
	for name, e := range entries {
		if e.now == nil {
			delete(entries, name)
		} else {
			entries[name] = entry{now: e.now, durable: e.now}
		}
	}
	return nil
}

// split returns the directory that holds name, which must exist, and the name there.
func (f *FS) split(op, name string) (dir, base string, err error) {
	path := filepath.Clean(name)
	dir = filepath.Dir(path)
	if !f.isDir(dir) {
		return "", "", missing(op, name)
	}
	return dir, filepath.Base(path), nil
}

// find returns the file of that name.
func (f *FS) find(op, name string) (*node, error) {
	dir, base, err := f.split(op, name)
	if err != nil {
		return nil, err
	}
	if n := f.dirs[dir][base].now; n != nil {
		return n, nil
	}
	return nil, missing(op, name)
}

// put gives a file a name, which is free, in an existing directory.
func (f *FS) put(dir, base string, n *node) {
	if f.dirs[dir] == nil { // it always exists, but had no files
		f.dirs[dir] = make(directory)
	}
	f.dirs[dir][base] = entry{now: n, durable: f.dirs[dir][base].durable}
}

// isDir reports whether there is a directory of this clean name.
func (f *FS) isDir(path string) bool {
	_, ok := f.dirs[path]
	return ok || filepath.Dir(path) == path
}

// missing returns the error for a file or directory that is not there.
func missing(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}
