package memfs

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/vfs"
)

// files is all files of a file system, or those of a folder.
type files struct {
	fs *FS
	in *folder // nil for all
}

func (f files) Create(name string) (vfs.File, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	dir, base, err := f.split("create", name)
	if err != nil {
		return nil, err
	}
	if dir.entries[base].now != nil || f.fs.isDir(filepath.Clean(name)) {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := newNode(f.fs.crashable)
	dir.put(base, n)
	return &file{fs: f.fs, dir: dir, node: n, name: name, writable: true}, nil
}

func (f files) Open(name string) (vfs.File, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	dir, n, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	return &file{fs: f.fs, dir: dir, node: n, name: name}, nil
}

// Remove implements vfs.Files. Handles and maps of the file stay usable.
func (f files) Remove(name string) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	dir, base, err := f.split("remove", name)
	if err != nil {
		return err
	}
	e := dir.entries[base]
	if e.now == nil {
		return missing("remove", name)
	}
	if e.durable == nil {
		delete(dir.entries, base)
	} else {
		dir.entries[base] = entry{durable: e.durable}
	}
	return nil
}

func (f files) List(name string) ([]string, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	dir, err := f.directory("list", name)
	if err != nil {
		return nil, err
	}
	var names []string
	for name, e := range dir.entries {
		if e.now != nil {
			names = append(names, name)
		}
	}
	for path := range f.fs.dirs {
		if parent := filepath.Dir(path); parent != path && f.fs.dirs[parent] == dir {
			names = append(names, filepath.Base(path))
		}
	}
	slices.Sort(names)
	return names, nil
}

// IsRegular implements vfs.Files. There are files and directories only.
func (f files) IsRegular(name string) (bool, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.in == nil && f.fs.isDir(filepath.Clean(name)) {
		return false, nil
	}
	_, _, err := f.find("look at", name)
	return err == nil, err
}

func (f files) SyncDir(name string) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	dir, err := f.directory("sync", name)
	if err != nil || !f.fs.crashable {
		return err
	}
	for name, e := range dir.entries {
		if e.now == nil {
			delete(dir.entries, name)
		} else {
			dir.entries[name] = entry{now: e.now, durable: e.now}
		}
	}
	return nil
}

func (f files) directory(op, name string) (*directory, error) {
	path := filepath.Clean(name)
	if f.in != nil {
		return f.in.directory(op, path, name)
	}
	if d := f.fs.dir(path); d != nil {
		return d, nil
	}
	return nil, missing(op, name)
}

// split returns the directory that holds name, which must exist, and the name there.
func (f files) split(op, name string) (dir *directory, base string, err error) {
	path := filepath.Clean(name)
	if f.in != nil {
		dir, err = f.in.directory(op, filepath.Dir(path), name)
	} else if dir = f.fs.dir(filepath.Dir(path)); dir == nil {
		err = missing(op, name)
	}
	return dir, filepath.Base(path), err
}

// find returns the file of that name, and the directory that it is in.
func (f files) find(op, name string) (*directory, *node, error) {
	dir, base, err := f.split(op, name)
	if err != nil {
		return nil, nil, err
	}
	if n := dir.entries[base].now; n != nil {
		return dir, n, nil
	}
	return nil, nil, missing(op, name)
}

// put gives a file a name, which is free.
func (d *directory) put(base string, n *node) {
	d.entries[base] = entry{now: n, durable: d.entries[base].durable}
}

// holds returns nil if a name still stands for n, and vfs.ErrReplaced if it does not.
func (d *directory) holds(name string, n *node) error {
	if d.entries[filepath.Base(name)].now == n {
		return nil
	}
	return &fs.PathError{Op: "verify", Path: name, Err: vfs.ErrReplaced}
}
