package vfs

import (
	"errors"
	"io/fs"
)

// Sparse is implemented by folders that open files that they do not have, because those are kept
// elsewhere too.
type Sparse interface {
	// Elsewhere reports whether a file is not in the folder, and would be opened all the same.
	Elsewhere(name string) bool
}

// Elsewhere reports whether a file is not in a folder, and would be opened all the same.
func Elsewhere(files ReadOnly, name string) bool {
	sparse, ok := files.(Sparse)
	return ok && sparse.Elsewhere(name)
}

// HasLeft reports whether a file that was opened in a directory is not there any more, or the
// directory is closed: opening it by its name would fail, or open what is elsewhere.
func HasLeft(files Files, name string) bool {
	_, err := files.IsRegular(name)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrClosed)
}
