//go:build !unix || aix

package vfs

import (
	"errors"
	"os"
	"path/filepath"
)

// identity tells files and directories apart, as long as they exist or are open.
type identity struct{ os.FileInfo }

func (i identity) is(other identity) bool { return os.SameFile(i.FileInfo, other.FileInfo) }

// identify returns the identity of what is at the place, following symbolic links.
func identify(p place) (identity, error) {
	info, err := os.Stat(p.name)
	if err == nil {
		_ = os.SameFile(info, info) // some systems are only asked now, and not when it is gone
	}
	return identity{info}, err
}

func identifyOpen(f *os.File) (identity, error) {
	info, err := f.Stat()
	return identity{info}, err
}

func within(f *osFolder, name, path string) place {
	return place{name: filepath.Join(f.path.name, name), path: path}
}

// openLock opens a lock file, which must not be a symbolic link. What was opened is compared with
// what has the name, so that it makes no difference when a link takes the file's place.
func openLock(p place) (*os.File, error) {
	file, err := openFile(p, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	named, err := os.Lstat(p.name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = p.fail("lock", errLink)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func remove(p place) error { return os.Remove(p.name) }

func link(from, to place) error { return os.Link(from.name, to.name) }

func isRegular(p place) (bool, error) {
	info, err := os.Lstat(p.name)
	return err == nil && info.Mode().IsRegular(), err
}
