package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// errLink reports a lock file that is a symbolic link: what it leads to must not be written to.
var errLink = errors.New("the lock file is a symbolic link, remove it")

// errTaken is what lockFile returns if another handle has the lock.
var errTaken = errors.New("lock is taken")

// osLock is a lock of the operating system on a file that names the holder: its first line is the
// process id of the last holder that announced itself.
type osLock struct {
	opened
	place place // of the file
}

func (o osFiles) Lock(name string) (Lock, error) {
	p, err := o.locate("lock", name)
	if err != nil {
		return nil, err
	}
	file, err := openLock(p)
	if err != nil {
		return nil, asKnown(err)
	}
	err = lockFile(file)
	if err == nil {
		return &osLock{opened{file: file}, p}, nil
	}
	if errors.Is(err, errTaken) {
		err = taken(name, owner(file))
	}
	return nil, errors.Join(err, file.Close())
}

// lineBytes is the length of the line with the process id.
const lineBytes = 20

// Announce writes a line of fixed length, so that it never has to cut off the rest of another.
func (l *osLock) Announce() error {
	line := bytes.Repeat([]byte{' '}, lineBytes)
	strconv.AppendInt(line[:0], int64(os.Getpid()), 10)
	line[lineBytes-1] = '\n'
	_, err := l.file.WriteAt(line, 0)
	return asKnown(err)
}

func (l *osLock) Named() error { return l.named(l.place) }

func (l *osLock) Close() error { return errors.Join(unlockFile(l.file), l.file.Close()) }

// taken returns the error for a lock that the process pid holds; 0 stands for an unknown process.
func taken(name string, pid int) error {
	switch pid {
	case 0:
		return fmt.Errorf("lock %s: %w by another process", name, ErrLocked)
	case os.Getpid():
		return fmt.Errorf("lock %s: %w: already open in this process", name, ErrLocked)
	}
	return fmt.Errorf("lock %s: %w by process %d", name, ErrLocked, pid)
}

// owner returns the process id in a lock file, or 0 if the file has none.
func owner(file *os.File) int {
	var buf [24]byte
	n, _ := file.ReadAt(buf[:], 0) // a short or unreadable file names no process
	return ParseOwner(buf[:n])
}

// ParseOwner returns the process id that a lock file with the given content names, or 0 if it names
// none.
func ParseOwner(content []byte) int {
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
