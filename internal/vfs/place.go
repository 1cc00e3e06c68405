package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// place is where a file or directory is: a name below an open directory or, if that is nil, a path.
type place struct {
	dir  *os.File
	name string // for the system
	path string // for people
}

func located(path string) place { return place{name: path, path: path} }

// fail returns the error of an operation on what is at the place.
func (p place) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: p.path, Err: err}
}

// opened is an open file or directory of the operating system, with its identity from when that is
// first asked for: many files are never asked.
type opened struct {
	file *os.File
	once sync.Once
	id   identity
	err  error
}

func (o *opened) identity() (identity, error) {
	o.once.Do(func() { o.id, o.err = identifyOpen(o.file) })
	return o.id, o.err
}

// at returns ErrReplaced if what is at the place now is something else, and fs.ErrNotExist if there
// is nothing; nil also if that cannot be told.
func (o *opened) at(p place) error {
	id, err := o.identity()
	if err != nil {
		return nil
	}
	now, err := identify(p)
	switch {
	case err == nil && !now.is(id):
		return p.fail("verify", ErrReplaced)
	case errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// named is at for a file, for which nothing is as bad as something else.
func (o *opened) named(p place) error {
	err := o.at(p)
	if errors.Is(err, fs.ErrNotExist) {
		err = p.fail("verify", ErrReplaced)
	}
	return err
}

// osFolder is an open directory of the operating system.
type osFolder struct {
	osFiles
	opened
	path place // that it was opened by, absolute

	listing sync.Mutex // held while the handle is read from, and closed
	listed  bool       // it has been read from
	closed  bool
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
	f := &osFolder{opened: opened{file: handle}, path: located(path)}
	f.osFiles = osFiles{in: f, dir: dir}
	return f, nil
}

// Close waits for names: an os.File must not be closed while a directory is read.
func (f *osFolder) Close() error {
	f.listing.Lock()
	defer f.listing.Unlock()
	f.closed = true
	return f.file.Close()
}

func (f *osFolder) Named() error { return f.at(f.path) }

func (f *osFolder) Is(other Folder) bool {
	o, ok := other.(*osFolder)
	if !ok {
		return false
	}
	id, err := f.identity()
	otherID, otherErr := o.identity()
	return err == nil && otherErr == nil && id.is(otherID)
}

// names returns the base names in the folder, in any order.
func (f *osFolder) names() ([]string, error) {
	f.listing.Lock()
	defer f.listing.Unlock()
	if f.closed {
		return nil, f.path.fail("list", fs.ErrClosed)
	}
	if f.listed {
		if _, err := f.file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	}
	f.listed = true
	return f.file.Readdirnames(-1)
}

func (f *osFolder) Link(name string, to Folder, as string) error {
	from, target, err := f.pair(name, to, as)
	if err != nil {
		return err
	}
	return asKnown(link(from, target))
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
