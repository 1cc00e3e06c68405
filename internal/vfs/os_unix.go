//go:build unix && !aix

package vfs

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openFile opens a file without offering it to the runtime's poller, which takes none but tries:
// that would be half of the system calls of opening a database.
func openFile(name string, flag int) (*os.File, error) {
	for {
		fd, err := unix.Open(name, flag|unix.O_CLOEXEC, 0o600)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), name), nil
		case unix.EINTR:
		default:
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// openLock opens a lock file, which must not be a symbolic link.
func openLock(name string) (*os.File, error) {
	file, err := openFile(name, os.O_RDWR|unix.O_NOFOLLOW)
	if errors.Is(err, unix.ELOOP) {
		err = &fs.PathError{Op: "lock", Path: name, Err: errLink}
	}
	return file, err
}

func openDir(name string) (*os.File, error) {
	return openFile(name, os.O_RDONLY|unix.O_DIRECTORY)
}

func syncDir(dir string) error {
	d, err := openDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil // a file system that does not sync directories keeps them in order by itself
	}
	return errors.Join(err, d.Close())
}

// lockFile takes the lock of the open file, so that two handles exclude each other in one process
// too.
func lockFile(f *os.File) error {
	err := control(f, "flock", func(fd int) error {
		return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	})
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errTaken
	}
	return err
}

// unlockFile does not leave it to closing, which does nothing while a child process that is being
// started has a copy of the descriptor.
func unlockFile(f *os.File) error {
	return control(f, "flock", func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}

// control calls fn with the descriptor of an open file, and again if a signal interrupted it.
func control(f *os.File, op string, fn func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	closed := conn.Control(func(fd uintptr) {
		for err = fn(int(fd)); err == unix.EINTR; {
			err = fn(int(fd))
		}
	})
	if closed != nil { // the one reason not to call the function
		err = fs.ErrClosed
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: err}
	}
	return nil
}
