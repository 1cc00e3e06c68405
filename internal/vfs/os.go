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

// osFS is the operating system's file system. What differs between platforms is in the functions
// openFile, openLock, openDir, syncDir, lockFile, unlockFile, datasync, startSync, extend, mapFile
// and isFull; each platform has each of them in one of the files os_*.go and map_*.go.
type osFS struct{}

func (osFS) Create(name string) (File, error) {
	return newFile(openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL))
}

func (osFS) Open(name string) (File, error) { return newFile(openFile(name, os.O_RDONLY)) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) Link(from, to string) error { return asNoSpace(os.Link(from, to)) }

func (osFS) Same(a, b string) bool {
	first, errFirst := os.Stat(a)
	second, errSecond := os.Stat(b)
	return errFirst == nil && errSecond == nil && os.SameFile(first, second)
}

func (osFS) List(dir string) ([]string, error) {
	folder, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	names, err := folder.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, folder.Close())
}

func (osFS) IsRegular(name string) (bool, error) {
	info, err := os.Lstat(name)
	return err == nil && info.Mode().IsRegular(), err
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
		return asNoSpace(err)
	}
	return syncDir(parent)
}

func (osFS) SyncDir(dir string) error { return asNoSpace(syncDir(dir)) }

// spaceError is an error of the operating system that errors.Is finds to be ErrNoSpace too.
type spaceError struct{ error }

func (e spaceError) Unwrap() error        { return e.error }
func (e spaceError) Is(target error) bool { return target == ErrNoSpace }

// asNoSpace makes err match ErrNoSpace if it says that the device or the quota is full.
func asNoSpace(err error) error {
	if err != nil && isFull(err) {
		return spaceError{err}
	}
	return err
}
