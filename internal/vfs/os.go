package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// OS returns the file system of the operating system.
func OS() FS { return osFS{} }

// osFS is the operating system's file system. What differs between platforms is in the files
// os_*.go and map_*.go.
type osFS struct{ osFiles }

// osFiles is all files of the operating system, or those of a folder.
type osFiles struct {
	in  *osFolder // nil for all
	dir string    // the clean path of the folder, as it was opened
}

func (o osFiles) locate(op, name string) (place, error) {
	if o.in == nil {
		return located(name), nil
	}
	if filepath.Dir(name) != o.dir {
		return place{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return within(o.in, filepath.Base(name), name), nil
}

// directory returns an open directory, and a function that closes it. For the files of a folder,
// that is the folder itself, and stays open.
func (o osFiles) directory(op, dir string) (f *osFolder, done func() error, err error) {
	if o.in == nil {
		handle, err := openDir(located(dir))
		if err != nil {
			return nil, nil, err
		}
		return &osFolder{opened: opened{file: handle}}, handle.Close, nil
	}
	if filepath.Clean(dir) != o.dir {
		return nil, nil, &fs.PathError{Op: op, Path: dir, Err: fs.ErrInvalid}
	}
	return o.in, func() error { return nil }, nil
}

func (o osFiles) open(op, name string, flag int) (File, error) {
	p, err := o.locate(op, name)
	if err != nil {
		return nil, err
	}
	file, err := openFile(p, flag)
	if err != nil {
		return nil, asKnown(err)
	}
	return &osFile{opened{file: file}, p}, nil
}

func (o osFiles) Create(name string) (File, error) {
	return o.open("create", name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func (o osFiles) Open(name string) (File, error) { return o.open("open", name, os.O_RDONLY) }

func (o osFiles) Remove(name string) error {
	p, err := o.locate("remove", name)
	if err != nil {
		return err
	}
	return asKnown(remove(p))
}

func (o osFiles) List(dir string) ([]string, error) {
	folder, done, err := o.directory("list", dir)
	if err != nil {
		return nil, err
	}
	names, err := folder.names()
	slices.Sort(names)
	return names, errors.Join(err, done())
}

func (o osFiles) IsRegular(name string) (bool, error) {
	p, err := o.locate("look at", name)
	if err != nil {
		return false, err
	}
	return isRegular(p)
}

func (o osFiles) SyncDir(dir string) error {
	folder, done, err := o.directory("sync", dir)
	if err != nil {
		return err
	}
	return asKnown(errors.Join(syncDir(folder.file), done()))
}

func (s osFS) MkdirAll(dir string) error {
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return err
	}
	if err := s.MkdirAll(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return asKnown(err)
	}
	return s.SyncDir(parent)
}

// knownError is an error of the operating system that errors.Is finds to be one of this package,
// too.
type knownError struct {
	error
	known error
}

func (e knownError) Unwrap() error        { return e.error }
func (e knownError) Is(target error) bool { return target == e.known }

// asKnown makes err match the error of this package that says the same, if there is one.
func asKnown(err error) error {
	switch {
	case err == nil:
	case isFull(err):
		return knownError{err, ErrNoSpace}
	case isUnwritable(err):
		return knownError{err, ErrUnwritable}
	}
	return err
}
