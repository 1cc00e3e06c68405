package vfs

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

func TestAsKnown_recognisesFullAndWriteProtectedDisks(t *testing.T) {
	for system, known := range map[error]error{errFull: ErrNoSpace, errUnwritable: ErrUnwritable} {
		said := &fs.PathError{Op: "write", Path: "name", Err: system}
		err := asKnown(said)
		if !errors.Is(err, known) || !errors.Is(err, system) {
			t.Errorf("%v is not found to be both %v and what the system said", err, known)
		}
		if err.Error() != said.Error() {
			t.Errorf("message %q, want %q", err, said)
		}
		var path *fs.PathError
		if !errors.As(err, &path) {
			t.Error("the path is lost")
		}
	}
	for _, other := range []error{nil, fs.ErrNotExist, syscall.EINVAL} {
		if got := asKnown(other); got != other {
			t.Errorf("asKnown(%v) = %v", other, got)
		}
	}
}
