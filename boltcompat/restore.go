package boltcompat

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat"
)

// restored returns the directory in which a copy is restored that is to take the place of the file
// at path. Open may remove it, so it has a name that no program chooses.
func restored(path string) string { return path + ".boltcompat-restore" }

// What is in that directory.
const (
	restoreLock = "lock" // a database that nobody uses: its lock holds between processes
	restoring   = "part" // a database that may be incomplete
	complete    = "db"   // the complete database
	replaced    = "copy" // the file of the copy: the complete database is to take its place
)

// restoreOver restores a copy, which it closes, and puts the database in the place of the file. It
// waits for another process that does the same.
func restoreOver(stream io.ReadCloser, path string, wait time.Duration) error {
	dir := restored(path)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	lock, err := stoat.Open(filepath.Join(dir, restoreLock), &stoat.Options{LockTimeout: wait})
	if err != nil {
		return err
	}
	err = replace(stream, path)
	if _, missing := os.Lstat(path); missing == nil { // else the only copy is in the directory
		_ = os.RemoveAll(dir) // a leftover does no harm
	}
	_ = lock.Close() // it is removed
	return err
}

// replace restores a copy and puts the database in the place of its file, unless that is one
// already. The file goes only when the database is complete; a crash in between is what finish is
// for. The caller holds the lock.
func replace(stream io.ReadCloser, path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return err
	}
	dir := restored(path)
	for _, left := range []string{replaced, complete, restoring} { // by a crash
		if err := os.RemoveAll(filepath.Join(dir, left)); err != nil {
			return err
		}
	}
	part := filepath.Join(dir, restoring)
	if err := stoat.RestoreFrom(context.Background(), stream, part); err != nil {
		return err
	}
	_ = stream.Close() // only read from; Windows moves no open file
	if err := os.Rename(part, filepath.Join(dir, complete)); err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(dir, replaced)); err != nil {
		return err
	}
	_, err = finish(path)
	return err
}

// finish puts a restored database in the place of its file, and reports whether there was one. If
// the file is not where replace moves it, somebody has deleted it, and no longer wants its
// contents.
func finish(path string) (done bool, err error) {
	dir := restored(path)
	_, err = os.Stat(filepath.Join(dir, replaced))
	if err == nil {
		err = os.Rename(filepath.Join(dir, complete), path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
