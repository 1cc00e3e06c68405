package vfs_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestRoom_isThatOfTheDisk(t *testing.T) {
	dir := t.TempDir()
	room, known := vfs.Room(vfs.OS(), dir)
	switch runtime.GOOS {
	case "darwin", "linux", "windows":
		if !known || room <= 0 {
			t.Errorf("the disk has %d bytes, known: %t", room, known)
		}
	}
	if _, known := vfs.Room(vfs.OS(), filepath.Join(dir, "missing")); known {
		t.Error("a folder that is missing has room")
	}
	if _, known := vfs.Room(memfs.New(), "/"); known {
		t.Error("memory says how much there is")
	}
}
