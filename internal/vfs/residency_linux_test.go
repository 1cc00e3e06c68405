package vfs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"golang.org/x/sys/unix"
)

// cold returns a map of a new file of so many bytes that are not in memory, or skips the test.
func cold(t *testing.T, size int) []byte {
	t.Helper()
	if strconv.IntSize < 64 {
		t.Skip("files are not mapped here")
	}
	name := filepath.Join(t.TempDir(), "file")
	ok(t, os.WriteFile(name, make([]byte, size), 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	ok(t, err)
	defer f.Close()
	ok(t, f.Sync()) // or it must stay in memory
	ok(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	r, err := vfs.OS().Open(name)
	ok(t, err)
	defer r.Close()
	data := mapped(t, r, int64(size))
	if vfs.Resident(data[:1]) || vfs.Resident(data[size-1:]) {
		t.Skip("the file system keeps files in memory")
	}
	return data
}

func TestPopulate_bringsInWhatItIsAskedFor(t *testing.T) {
	data := cold(t, 32<<20) // more than the read-ahead of most systems
	if err := unix.Madvise(data[:1], unix.MADV_POPULATE_READ); err != nil {
		t.Skipf("the kernel does not know how: %v", err)
	}
	const from, to = 24<<20 + 5000, 25<<20 + 1
	vfs.Populate(data[from:to])
	if !vfs.Resident(data[from:to]) {
		t.Fatal("not all of it is in memory")
	}
	if vfs.Resident(data) {
		t.Error("all of the file seems to be in memory")
	}
	if vfs.Resident(data[len(data)-1:]) {
		t.Error("the end of the file, which nobody asked for, is in memory")
	}
}

func TestUnloader_losesNothing(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("files are not mapped here")
	}
	name := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("what a file holds "), 10_000)
	ok(t, os.WriteFile(name, want, 0o600))
	f, err := vfs.OS().Open(name)
	ok(t, err)
	defer f.Close()
	data := mapped(t, f, int64(len(want)))
	for range 2 {
		if !bytes.Equal(data, want) {
			t.Fatal("the map has changed")
		}
		vfs.Unloader(f, data)()
	}
}

func TestUnloader_leavesTheMemoryOfOtherFileSystems(t *testing.T) {
	f, err := memfs.New().Create("file")
	ok(t, err)
	defer f.Close()
	want := []byte("not a map")
	own := bytes.Clone(want)
	vfs.Unloader(f, own)()
	if !bytes.Equal(own, want) {
		t.Error("memory that is no map has changed")
	}
}
