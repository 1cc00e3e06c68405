package vfs

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

func TestAsNoSpace_recognisesAFullDisk(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "name", Err: errFull}
	err := asNoSpace(full)
	if !errors.Is(err, ErrNoSpace) || !errors.Is(err, errFull) {
		t.Errorf("%v is not found to be both ErrNoSpace and what the system said", err)
	}
	if err.Error() != full.Error() {
		t.Errorf("message %q, want %q", err, full)
	}
	var path *fs.PathError
	if !errors.As(err, &path) {
		t.Error("the path is lost")
	}
	for _, other := range []error{nil, fs.ErrNotExist, syscall.EINVAL} {
		if got := asNoSpace(other); got != other {
			t.Errorf("asNoSpace(%v) = %v", other, got)
		}
	}
}
