//go:build unix && !aix

package vfs

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// identity tells files and directories apart, as long as they exist or are open.
type identity struct{ device, number uint64 }

func (i identity) is(other identity) bool { return i == other }

// identify returns the identity of what is at the place, following symbolic links.
func identify(p place) (id identity, err error) {
	var stat unix.Stat_t
	if err := p.do("verify", func(dir int) error {
		return unix.Fstatat(dir, p.name, &stat, 0)
	}); err != nil {
		return id, err
	}
	return identityOf(&stat), nil
}

func identifyOpen(f *os.File) (id identity, err error) {
	var stat unix.Stat_t
	if err := control(f, "verify", func(fd int) error { return unix.Fstat(fd, &stat) }); err != nil {
		return id, err
	}
	return identityOf(&stat), nil
}

// identityOf converts numbers whose types differ from system to system.
func identityOf(stat *unix.Stat_t) identity {
	return identity{uint64(stat.Dev), uint64(stat.Ino)}
}

func within(f *osFolder, name, path string) place { return place{f.file, name, path} }

// do calls fn with the descriptor of the directory that the place is in, and again if a signal
// interrupted it.
func (p place) do(op string, fn func(dir int) error) (err error) {
	if p.dir != nil {
		err = controlled(p.dir, fn)
	} else {
		err = repeat(func() error { return fn(unix.AT_FDCWD) })
	}
	if err != nil {
		return p.fail(op, err)
	}
	return nil
}

// openFile opens a file without offering it to the runtime's poller, which takes none but tries:
// that would be half of the system calls of opening a database.
func openFile(p place, flag int) (file *os.File, err error) {
	err = p.do("open", func(dir int) error {
		fd, err := unix.Openat(dir, p.name, flag|unix.O_CLOEXEC, 0o600)
		if err == nil {
			file = os.NewFile(uintptr(fd), p.path)
		}
		return err
	})
	return file, err
}

// openLock opens a lock file, which must not be a symbolic link.
func openLock(p place) (*os.File, error) {
	file, err := openFile(p, os.O_RDWR|unix.O_NOFOLLOW)
	if errors.Is(err, unix.ELOOP) {
		err = p.fail("lock", errLink)
	}
	return file, err
}

func openDir(p place) (*os.File, error) { return openFile(p, os.O_RDONLY|unix.O_DIRECTORY) }

func remove(p place) error {
	if p.dir == nil { // it may be a directory
		return os.Remove(p.path)
	}
	return p.do("remove", func(dir int) error { return unix.Unlinkat(dir, p.name, 0) })
}

func isRegular(p place) (bool, error) {
	var stat unix.Stat_t
	err := p.do("verify", func(dir int) error {
		return unix.Fstatat(dir, p.name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	})
	return err == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG, err
}

func syncDir(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil // a file system that does not sync directories keeps them in order by itself
	}
	return err
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
	if err := controlled(f, fn); err != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: err}
	}
	return nil
}

// controlled is control without a name for the error.
func controlled(f *os.File, fn func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	closed := conn.Control(func(fd uintptr) {
		err = repeat(func() error { return fn(int(fd)) })
	})
	if closed != nil { // the one reason not to call the function
		return fs.ErrClosed
	}
	return err
}

// repeat calls fn until no signal interrupts it.
func repeat(fn func() error) error {
	for {
		if err := fn(); err != unix.EINTR {
			return err
		}
	}
}
