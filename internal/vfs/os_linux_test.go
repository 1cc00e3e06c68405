package vfs_test

import (
	"os"
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

func TestPreallocate_reservesBlocks(t *testing.T) {
	for name, files := range map[string]vfs.FS{"OS": vfs.OS(), "zeros": vfs.WritingZeros()} {
		t.Run(name, func(t *testing.T) {
			s := system{files, t.TempDir()}
			f := create(t, s, "file", "content")
			ok(t, f.Preallocate(1<<20))
			ok(t, f.Sync()) // where blocks are found late
			info, err := os.Stat(s.path("file"))
			ok(t, err)
			if stat, isStat := info.Sys().(*syscall.Stat_t); isStat && stat.Blocks < 2048 {
				t.Skipf("%d blocks: this file system keeps zeros without blocks", stat.Blocks)
			}
			ok(t, f.Truncate(7))
			wantContent(t, f, "content")
		})
	}
}
