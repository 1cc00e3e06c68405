package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// A machine's directory has a database in a directory with a number, of which the highest counts,
// and while a snapshot is received, the directory "incoming".

func numbered(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%06d", number))
}

// isNumbered reports whether numbered gives this name.
func isNumbered(name string) bool {
	n, err := strconv.ParseUint(name, 10, 64)
	return err == nil && name == filepath.Base(numbered("", n))
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
	for _, e := range entries {
		switch {
		case e.Name() == filepath.Base(incoming(dir)):
		case e.IsDir() && isNumbered(e.Name()):
			n, _ := strconv.ParseUint(e.Name(), 10, 64) // isNumbered has parsed it
			found = append(found, n)
			number = max(number, n)
		default:
			return 0, fmt.Errorf("the directory holds %q, which is of no state machine; choose "+
				"another directory", e.Name())
		}
	}
	if len(found) == 0 {
		return 1, discard(dir)
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

// publish gives a snapshot that was received its number, durably.
func publish(dir string, number uint64) error {
	if err := os.Rename(incoming(dir), numbered(dir, number)); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // where directories cannot be synced
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
