package vfs

import (
	"errors"
	"fmt"
)

// Owned returns nil if a folder and its lock are still what they were when they were opened, as far
// as can be told. After ErrReplaced, another process may use the folder, or its path leads to
// another one. A renamed folder is no error: a process that opens it by its new name meets the
// lock.
func Owned(folder Folder, lock Lock) error {
	if err := lock.Named(); err != nil {
		return fmt.Errorf("%w: without the lock that it stood for, another process may write to the "+
			"directory", err)
	}
	if err := folder.Named(); errors.Is(err, ErrReplaced) {
		return fmt.Errorf("%w: the open directory was renamed, with all that was committed, and this "+
			"is another one", err)
	}
	return nil
}
