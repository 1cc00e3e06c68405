package vfs_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
)

func TestOS_reportsAFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	full.Close()
	l, err := vfs.OS().Lock("/dev/full")
	ok(t, err)
	defer l.Close()
	wantErr(t, l.Announce(), vfs.ErrNoSpace)
}

func TestPreallocate_findsAFullDeviceByWritingZeros(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	f := vfs.FileWritingZeros(full)
	defer f.Close()
	wantErr(t, f.Preallocate(1<<20), vfs.ErrNoSpace)
}

// blocks returns how many blocks of 512 bytes a file has on the disk.
func blocks(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	ok(t, err)
	stat, isStat := info.Sys().(*syscall.Stat_t)
	if !isStat {
		t.Fatalf("%s has no blocks but %T", name, info.Sys())
	}
	return stat.Blocks
}

// wantsBlocks skips the test where the file system has no blocks for zeros, however it is asked.
func wantsBlocks(t *testing.T, size int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "zeros")
	f, err := os.Create(name)
	ok(t, err)
	defer f.Close()
	_, err = f.Write(make([]byte, size))
	ok(t, err)
	ok(t, f.Sync()) // where blocks are found late
	if n := blocks(t, name); n < int64(size)/512 {
		t.Skipf("%d blocks for %d bytes of zeros", n, size)
	}
}

func TestPreallocate_reservesBlocks(t *testing.T) {
	for name, files := range map[string]vfs.FS{"OS": vfs.OS(), "zeros": vfs.WritingZeros()} {
		t.Run(name, func(t *testing.T) {
			wantsBlocks(t, 1<<20)
			s := system{files, t.TempDir()}
			f := create(t, s, "file", "content")
			ok(t, f.Preallocate(1<<20))
			ok(t, f.Sync())
			if n := blocks(t, s.path("file")); n < 2048 {
				t.Errorf("%d blocks are reserved for 1 MiB", n)
			}
			ok(t, f.Truncate(7))
			wantContent(t, f, "content")
		})
	}
}
