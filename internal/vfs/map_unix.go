//go:build unix && !aix && !386 && !arm && !mips && !mipsle

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile checks the size first, because reading a map beyond the end of its file is a signal.
func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if size < 0 || size > info.Size() {
		return nil, nil, fmt.Errorf("map %d bytes of %s, which has %d: %w",
			size, f.Name(), info.Size(), io.ErrUnexpectedEOF)
	}
	if size == 0 { // which the system refuses
		return nil, func() error { return nil }, nil
	}
	err = control(f, "mmap", func(fd int) (err error) {
		data, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
		return err
	})
	if errors.Is(err, unix.ENODEV) {
		return nil, nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: ErrNoMap}
	}
	if err != nil {
		return nil, nil, err
	}
	// Most reads are of one value somewhere: the system would read megabytes around it. Scans ask
	// ahead themselves. Where it knows no such advice, nothing is lost.
	_ = unix.Madvise(data, unix.MADV_RANDOM)
	return data, func() error { return unix.Munmap(data) }, nil
}

// unloadMap loses nothing: data is a map of a file, which is only read through it.
func unloadMap(data []byte) {
	if len(data) > 0 {
		_ = unix.Madvise(data, unix.MADV_DONTNEED)
	}
}
