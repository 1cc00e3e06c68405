//go:build unix

package stoat_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stoatdb/stoat"
)

// setUmask sets what the process takes away from the modes of new files, until the test ends.
func setUmask(t testing.TB, mask int) {
	t.Helper()
	before := syscall.Umask(mask)
	t.Cleanup(func() { syscall.Umask(before) })
}

// wantMode wants a file or folder to have these permissions.
func wantMode(t testing.TB, name string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(name)
	ok(t, err)
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has the mode %04o, want %04o", name, got, want)
	}
}

// wantFileModes wants all files in a folder to have these permissions. Work in the background may
// remove some meanwhile.
func wantFileModes(t testing.TB, dir string, want os.FileMode) {
	t.Helper()
	files, err := os.ReadDir(dir)
	ok(t, err)
	for _, f := range files {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		ok(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %04o, want %04o", f.Name(), got, want)
		}
	}
}

func TestOpen_makesFilesForTheirOwnerOnly(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077} {
		setUmask(t, mask)
		parent := filepath.Join(t.TempDir(), "parent")
		dir := filepath.Join(parent, "db")
		db := openDir(t, dir, &stoat.Options{ValueThreshold: 64})
		for range 2 { // a log with values, tables, value files, and a log that is in use
			ok(t, db.Put([]byte("key"), make([]byte, 100)))
			ok(t, db.Compact(context.Background()))
			ok(t, db.Put([]byte("key"), make([]byte, 200)))
			ok(t, db.Flush())
			wantFileModes(t, dir, 0o600)
			wantMode(t, dir, 0o700)
			wantMode(t, parent, 0o700)
			ok(t, db.Close())
			db = openDir(t, dir, nil)
		}
		ok(t, db.Close())
	}
}

func TestOpen_leavesTheModeOfAFolderAsItIs(t *testing.T) {
	setUmask(t, 0)
	dir := filepath.Join(t.TempDir(), "db")
	ok(t, os.Mkdir(dir, 0o750))
	db := openDir(t, dir, nil)
	ok(t, db.Put([]byte("key"), []byte("value")))
	ok(t, db.Close())
	wantMode(t, dir, 0o750)
	wantFileModes(t, dir, 0o600)
}

// precious makes a file outside of any database, and returns its name and a check that it is as it
// was made.
func precious(t testing.TB) (name string, check func()) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "precious")
	content := bytes.Repeat([]byte("precious "), 50)
	ok(t, os.WriteFile(name, content, 0o600))
	return name, func() {
		t.Helper()
		got, err := os.ReadFile(name)
		ok(t, err)
		if !bytes.Equal(got, content) {
			t.Errorf("%s was written to: %.40q", name, got)
		}
	}
}

func TestOpen_locksNoSymbolicLink(t *testing.T) {
	for _, existing := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "db")
		if existing {
			ok(t, openDir(t, dir, nil).Close())
			ok(t, os.Remove(filepath.Join(dir, "LOCK")))
		} else {
			ok(t, os.Mkdir(dir, 0o700))
		}
		target, check := precious(t)
		ok(t, os.Symlink(target, filepath.Join(dir, "LOCK")))
		if db, err := stoat.Open(dir, nil); err == nil {
			t.Error("a database with a link for its lock is opened")
			ok(t, db.Close())
		}
		check()
	}
}

func TestOpen_removesSymbolicLinksAndNotWhatTheyLeadTo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openDir(t, dir, nil)
	ok(t, db.Put([]byte("key"), []byte("value")))
	ok(t, db.Close())
	target, check := precious(t)
	links := []string{"000900.table", "000901.values", "000001.log"}
	for _, name := range links {
		ok(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	ok(t, os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, "000902.table")))
	db = openDir(t, dir, nil)
	ok(t, db.Put([]byte("key"), []byte("another")))
	ok(t, db.Compact(context.Background()))
	ok(t, db.Close())
	for _, name := range append(links, "000902.table") {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("the link %s is still there", name)
		}
	}
	check()
}

// A table that a user has put on another disk is read through the link that it left, and removed
// with it, but what the link leads to stays.
func TestOpen_readsThroughASymbolicLinkToATable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openDir(t, dir, nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b", "c") })
	ok(t, db.Close())
	tables, err := filepath.Glob(filepath.Join(dir, "*.table"))
	ok(t, err)
	target := filepath.Join(t.TempDir(), "elsewhere")
	ok(t, os.Rename(tables[0], target))
	ok(t, os.Symlink(target, tables[0]))
	before, err := os.ReadFile(target)
	ok(t, err)

	db = openDir(t, dir, nil)
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a", "b", "c") })
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "bb") })
	ok(t, db.Compact(context.Background()))
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a", "b", "bb", "c") })
	ok(t, db.Close())
	if _, err := os.Lstat(tables[0]); err == nil {
		t.Errorf("the link %s is still there", tables[0])
	}
	after, err := os.ReadFile(target)
	ok(t, err)
	equal(t, bytes.Equal(before, after), true)
}

// Whatever a link with the name of a new file leads to, nothing is written there.
func TestDB_createsNoFileThroughASymbolicLink(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openDir(t, dir, &stoat.Options{ValueThreshold: 64})
	ok(t, db.Put([]byte("key"), make([]byte, 100)))
	target, check := precious(t)
	for _, name := range []string{"000003.table", "000003.log", "000003.values", "MANIFEST-000003",
		"000004.table", "000004.log", "000004.values", "MANIFEST-000004"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	flushErr := db.Flush() // may fail: the name is taken
	_ = db.Put([]byte("other"), make([]byte, 100))
	_ = db.Close()
	check()
	db = openDir(t, dir, nil)
	value, err := db.Get([]byte("key"))
	ok(t, err)
	equal(t, len(value), 100)
	ok(t, db.Close())
	check()
	t.Logf("the flush said %v", flushErr)
}
