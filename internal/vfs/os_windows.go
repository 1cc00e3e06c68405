package vfs

import (
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// openFile opens a file so that it can be removed while it is open, which the standard library does
// not. Of flag it knows O_RDONLY, O_RDWR, O_CREATE and O_EXCL.
func openFile(p place, flag int) (*os.File, error) {
	access := uint32(windows.GENERIC_READ)
	if flag&os.O_RDWR != 0 {
		access |= windows.GENERIC_WRITE
	}
	disposition, attributes := uint32(windows.OPEN_EXISTING), uint32(windows.FILE_ATTRIBUTE_NORMAL)
	if flag&os.O_EXCL != 0 {
		// A symbolic link that is in the way is a file that exists; it is not followed.
		disposition, attributes = windows.CREATE_NEW, attributes|windows.FILE_FLAG_OPEN_REPARSE_POINT
	} else if flag&os.O_CREATE != 0 {
		disposition = windows.OPEN_ALWAYS
	}
	return open(p, access, windows.FILE_SHARE_DELETE, disposition, attributes)
}

// open opens a file or directory that others may read and write, and do what share says.
func open(p place, access, share, disposition, attributes uint32) (*os.File, error) {
	path, err := windows.UTF16PtrFromString(p.name)
	if err != nil {
		return nil, p.fail("open", err)
	}
	share |= windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE
	handle, err := windows.CreateFile(path, access, share, nil, disposition, attributes, 0)
	if err != nil {
		return nil, p.fail("open", err)
	}
	return os.NewFile(uintptr(handle), p.name), nil
}

// datasync opens files a second time that are open for reading only: those Windows refuses to
// flush.
func datasync(f *os.File) error {
	err := f.Sync()
	if !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return err
	}
	writable, err := openFile(located(f.Name()), os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(writable.Sync(), writable.Close())
}

// extend allocates clusters for size bytes, on file systems that can, and makes them part of the
// file, which would give them back otherwise when it is closed.
func extend(f *os.File, old, size int64) error {
	allocation := size // a FILE_ALLOCATION_INFO
	err := windows.SetFileInformationByHandle(windows.Handle(f.Fd()), windows.FileAllocationInfo,
		(*byte)(unsafe.Pointer(&allocation)), uint32(unsafe.Sizeof(allocation)))
	switch {
	case err == nil:
		return f.Truncate(size)
	case errors.Is(err, windows.ERROR_INVALID_FUNCTION),
		errors.Is(err, windows.ERROR_INVALID_PARAMETER),
		errors.Is(err, windows.ERROR_NOT_SUPPORTED):
		return writeZeros(f, old, size)
	}
	return &fs.PathError{Op: "allocate", Path: f.Name(), Err: err}
}

// syncDir does nothing: directories cannot be flushed, NTFS journals them.
func syncDir(*os.File) error { return nil }

// lockedByte returns the place that is locked in a lock file. It lies far beyond the end, because
// a locked range cannot be read by others.
func lockedByte() *windows.Overlapped {
	return &windows.Overlapped{OffsetHigh: 0x7fff_ffff}
}

func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errTaken
	}
	return os.NewSyscallError("LockFileEx", err)
}

// unlockFile does not leave it to closing, after which Windows takes its time.
func unlockFile(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
	return os.NewSyscallError("UnlockFileEx", err)
}

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) ||
		errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

func isUnwritable(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// openDir opens a directory so that it can neither be renamed nor removed while it is open.
func openDir(p place) (*os.File, error) {
	return open(p, windows.GENERIC_READ, 0, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS)
}
