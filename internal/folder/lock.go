package folder

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/vfs"
)

// Lock takes the lock of the folder dir. If there is no lock file, the error matches
// fs.ErrNotExist.
func Lock(files vfs.Files, dir string) (vfs.Lock, error) {
	return files.Lock(filepath.Join(dir, LockName))
}

// CreateLock creates the lock file of the folder dir, unless there is one.
func CreateLock(files vfs.Files, dir string) error {
	file, err := files.Create(filepath.Join(dir, LockName))
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}
