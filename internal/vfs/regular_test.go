package vfs_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/symlink"
	"github.com/stoatdb/stoat/internal/vfs"
)

func TestIsRegular_tellsFilesFromFolders(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f, err := s.Create(s.path("file"))
		ok(t, err)
		ok(t, f.Close())
		ok(t, s.MkdirAll(s.path("folder")))
		for name, want := range map[string]bool{"file": true, "folder": false} {
			if got, err := s.IsRegular(s.path(name)); err != nil || got != want {
				t.Errorf("%s is regular: %v, %v, want %v", name, got, err, want)
			}
		}
		if _, err := s.IsRegular(s.path("none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of a file that is not there: %v", err)
		}
	})
}

func TestIsRegular_followsNoSymbolicLink(t *testing.T) {
	s := system{vfs.OS(), t.TempDir()}
	f, err := s.Create(s.path("file"))
	ok(t, err)
	ok(t, f.Close())
	symlink.Make(t, s.path("file"), s.path("link"))
	if regular, err := s.IsRegular(s.path("link")); err != nil || regular {
		t.Errorf("a symbolic link is regular: %v, %v", regular, err)
	}
}
