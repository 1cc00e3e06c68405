package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// A machine's directory has a database in a directory with a number, of which the highest counts;
// snapshots that are being written, which share files with it; and while a snapshot is received,
// the directory "incoming".

func numbered(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%06d", number))
}

// isNumbered reports whether numbered gives this name.
func isNumbered(name string) bool {
	n, err := strconv.ParseUint(name, 10, 64)
	return err == nil && name == filepath.Base(numbered("", n))
}

// snapshotPrefix begins the names of snapshots.
const snapshotPrefix = "snapshot-"

func snapshotDir(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%06d", snapshotPrefix, number))
}

func incoming(dir string) string { return filepath.Join(dir, "incoming") }

// tidy removes what crashes have left in a directory, which it creates if there is none, and
// returns the number of the database that counts, 1 for a new one.
func tidy(dir string) (number uint64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var found []uint64
	var left []string
	for _, e := range entries {
		switch {
		case e.Name() == filepath.Base(incoming(dir)):
		case e.IsDir() && strings.HasPrefix(e.Name(), snapshotPrefix):
			left = append(left, filepath.Join(dir, e.Name()))
		case e.IsDir() && isNumbered(e.Name()):
			n, _ := strconv.ParseUint(e.Name(), 10, 64) // isNumbered has parsed it
			found = append(found, n)
			number = max(number, n)
		default:
			return 0, fmt.Errorf("the directory holds %q, which is of no state machine; choose "+
				"another directory", e.Name())
		}
	}
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(name))
	}
	if len(found) == 0 {
		return 1, errors.Join(err, discard(dir))
	}
	for _, n := range found {
		if n < number {
			err = errors.Join(err, remove(dir, n))
		}
	}
	return number, errors.Join(err, discard(dir))
}

// discard removes a snapshot that was not received completely.
func discard(dir string) error { return os.RemoveAll(incoming(dir)) }

// remove removes a database. It is renamed first, so that one that is removed in part never counts.
func remove(dir string, number uint64) error {
	if err := discard(dir); err != nil {
		return err
	}
	err := os.Rename(numbered(dir, number), incoming(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return discard(dir)
}

// publish gives a snapshot that was received its number, durably. After an error it has none.
func publish(dir string, number uint64) error {
	err := os.Rename(incoming(dir), numbered(dir, number))
	if err != nil {
		return err
	}
	if err = syncDir(dir); err != nil {
		err = errors.Join(err, remove(dir, number))
	}
	return err
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" { // where directories cannot be synced
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
