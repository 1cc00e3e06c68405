package memfs

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
)

func TestRename_takesEverythingAlong(t *testing.T) {
	f := newDisk(t)
	file := create(t, f, "db/file", "content", true)
	ok(t, f.MkdirAll("db/inner"))
	create(t, f, "db/inner/file", "inner", false)
	ok(t, f.MkdirAll("other"))
	if err := f.Rename("db", "other"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a taken name: %v", err)
	}
	if err := f.Rename("none", "new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	ok(t, f.Rename("db", "other/moved"))
	write(t, file, "C", 0)
	want(t, f, "other/moved/file", "Content")
	want(t, f, "other/moved/inner/file", "inner")
	want(t, f.CrashKeepNone(), "other/moved/file", "content")
	wantAbsent(t, f.CrashKeepNone(), "other/moved/inner/file")
	if _, err := f.List("db"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name: %v", err)
	}
}

func TestReplace_leavesHandlesWithTheOldFile(t *testing.T) {
	f := newDisk(t)
	file := create(t, f, "db/file", "content", false)
	ok(t, file.Named())
	ok(t, f.Replace("db/file"))
	if err := file.Named(); !errors.Is(err, vfs.ErrReplaced) {
		t.Errorf("the handle of a file that was replaced: %v", err)
	}
	write(t, file, "C", 0)
	want(t, f, "db/file", "content")
	want(t, f.CrashKeepNone(), "db/file", "content")
	if err := f.Replace("db/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
