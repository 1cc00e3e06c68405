package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

// contents is what is in a directory.
type contents struct {
	number    uint64   // of the database that counts; 1 if there is none yet
	older     []uint64 // the numbers of the others
	snapshots []string // their paths
}

// examine returns what is in a directory, which it creates if there is none.
func examine(dir string) (c contents, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		switch {
		case e.Name() == filepath.Base(incoming(dir)):
		case e.IsDir() && strings.HasPrefix(e.Name(), snapshotPrefix):
			c.snapshots = append(c.snapshots, filepath.Join(dir, e.Name()))
		case e.IsDir() && isNumbered(e.Name()):
			n, _ := strconv.ParseUint(e.Name(), 10, 64) // isNumbered has parsed it
			c.older = append(c.older, n)
			c.number = max(c.number, n)
		default:
			return c, fmt.Errorf("the directory holds %q, which is of no state machine; choose "+
				"another directory", e.Name())
		}
	}
	c.older = slices.DeleteFunc(c.older, func(n uint64) bool { return n == c.number })
	c.number = max(c.number, 1)
	return c, nil
}

// tidy removes what crashes have left in a directory. The database that counts must be open: its
// lock keeps out other machines, whose snapshots these may be.
func (c *contents) tidy(dir string) (err error) {
	for _, name := range c.snapshots {
		err = errors.Join(err, os.RemoveAll(name))
	}
	for _, n := range c.older {
		err = errors.Join(err, remove(dir, n))
	}
	return errors.Join(err, discard(dir))
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
