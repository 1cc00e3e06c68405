package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync leaves out metadata that reading does not need, such as the time of the last change.
func datasync(f *os.File) error {
	return control(f, "fdatasync", unix.Fdatasync)
}

func startSync(f *os.File, offset, n int64) {
	_ = control(f, "sync_file_range", func(fd int) error { // Sync will meet the same error
		return unix.SyncFileRange(fd, offset, n, unix.SYNC_FILE_RANGE_WRITE)
	})
}

// extend reserves blocks for the bytes from old to size, on file systems that can.
func extend(f *os.File, old, size int64) error {
	err := control(f, "fallocate", func(fd int) error {
		return unix.Fallocate(fd, 0, old, size-old)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return writeZeros(f, old, size)
	}
	return err
}
