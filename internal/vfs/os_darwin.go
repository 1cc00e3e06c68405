package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync relies on the standard library, which makes the drive itself flush (F_FULLFSYNC).
func datasync(f *os.File) error { return f.Sync() }

// extend reserves blocks for the bytes from old to size, on file systems that can: in one piece if
// possible. They lie beyond the end of the file until it grows.
func extend(f *os.File, old, size int64) error {
	err := reserve(f, size-old, unix.F_ALLOCATECONTIG|unix.F_ALLOCATEALL)
	if err != nil {
		err = reserve(f, size-old, unix.F_ALLOCATEALL)
	}
	switch {
	case err == nil:
		return f.Truncate(size)
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EOPNOTSUPP),
		errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTTY):
		return writeZeros(f, old, size)
	}
	return err
}

func reserve(f *os.File, size int64, flags uint32) error {
	return control(f, "preallocate", func(fd int) error {
		return unix.FcntlFstore(uintptr(fd), unix.F_PREALLOCATE, &unix.Fstore_t{
			Flags: flags, Posmode: unix.F_PEOFPOSMODE, Length: size,
		})
	})
}
