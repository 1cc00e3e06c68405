package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// place is where a file or directory is: a name below an open directory or, if that is nil, a path.
type place struct {
	dir  *os.File
	name string // for the system
	path string // for people
}

// located returns the place of a path.
func located(path string) place { return place{name: path, path: path} }

// fail returns the error of an operation on what is at the place.
func (p place) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: p.path, Err: err}
}

// holds returns ErrReplaced if what is at the place is not what id says, or nothing is.
func (p place) holds(id identity) error {
	now, err := identify(p)
	if err == nil && !now.is(id) || errors.Is(err, fs.ErrNotExist) {
		return p.fail("verify", ErrReplaced)
	}
	return nil
}

// osFolder is an open directory of the operating system.
type osFolder struct {
	osFiles
	handle *os.File
	id     identity
	path   place // that it was opened by, absolute
}

func (osFS) OpenFolder(dir string) (Folder, error) {
	if dir == "" { // which Clean takes for the current folder
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrInvalid}
	}
	dir = filepath.Clean(dir)
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	handle, err := openDir(located(dir))
	if err != nil {
		return nil, err
	}
	id, err := identifyOpen(handle)
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	f := &osFolder{handle: handle, id: id, path: located(path)}
	f.osFiles = osFiles{in: f, dir: dir}
	return f, nil
}

func (f *osFolder) Close() error { return f.handle.Close() }

func (f *osFolder) Named() error {
	now, err := identify(f.path)
	switch {
	case err == nil && !now.is(f.id):
		return f.path.fail("verify", ErrReplaced)
	case errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

func (f *osFolder) Is(other Folder) bool {
	o, ok := other.(*osFolder)
	return ok && f.id.is(o.id)
}

func (f *osFolder) Link(name string, to Folder, as string) error {
	from, target, err := f.pair(name, to, as)
	if err != nil {
		return err
	}
	return asNoSpace(link(from, target))
}

func (f *osFolder) Same(name string, other Folder, as string) bool {
	first, second, err := f.pair(name, other, as)
	if err != nil {
		return false
	}
	id, err := identify(first)
	otherID, otherErr := identify(second)
	return err == nil && otherErr == nil && id.is(otherID)
}

// pair returns the places of a file here and of one in another folder.
func (f *osFolder) pair(name string, other Folder, as string) (here, there place, err error) {
	o, ok := other.(*osFolder)
	if !ok {
		return here, there, &fs.PathError{Op: "link", Path: as, Err: errors.ErrUnsupported}
	}
	here, err = f.locate("link", name)
	if err == nil {
		there, err = o.locate("link", as)
	}
	return here, there, err
}
