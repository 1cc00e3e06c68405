//go:build !unix || aix

package vfs

import (
	"errors"
	"io/fs"
	"os"
)

// openLock opens a lock file, which must not be a symbolic link. What was opened is compared with
// what has the name, so that it makes no difference when a link takes the file's place.
func openLock(name string) (*os.File, error) {
	file, err := openFile(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	named, err := os.Lstat(name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = &fs.PathError{Op: "lock", Path: name, Err: errLink}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
