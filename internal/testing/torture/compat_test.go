package torture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/tools/inspect"
	"github.com/stoatdb/stoat/internal/vfs"
)

var compatWrite = flag.Bool("compat.write", false, "write the databases of the current format anew")

const (
	compatDir     = "testdata/compat"
	compatCurrent = compatDir + "/v1" // what this version writes
	compatWant    = "want.txt"        // next to a database: its contents
	compatLater   = "later.txt"       // the same after entries have expired
)

// compatOpen opens the database in dir at a point in time.
func compatOpen(t testing.TB, dir string, readOnly bool, later time.Duration) *stoat.DB {
	t.Helper()
	tuning := engine.Tuning{Now: func() time.Time { return compatTime().Add(later) }}
	db, err := tuned.Open(vfs.OS(), dir, &stoat.Options{ReadOnly: readOnly}, tuning)
	ok(t, err)
	return db
}

// listing returns the contents of the database as lines of text.
func listing(t testing.TB, db *stoat.DB) string {
	t.Helper()
	var b strings.Builder
	view(t, db, func(tx *stoat.Tx) { writeContents(t, &b, "/", tx) })
	return b.String()
}

func writeContents(t testing.TB, b *strings.Builder, path string, s stoat.KeySpace) {
	t.Helper()
	sequence, err := s.Sequence()
	ok(t, err)
	fmt.Fprintf(b, "%s sequence %d\n", path, sequence)
	for key, value := range s.Scan(stoat.Range{}) {
		text := strconv.Quote(string(value))
		if len(value) > 200 {
			text = fmt.Sprintf("%d bytes, checksum %08x", len(value), checksum.Of(value))
		}
		fmt.Fprintf(b, "%s %q = %s\n", path, key, text)
	}
	for name := range s.Buckets() {
		writeContents(t, b, fmt.Sprintf("%s%q/", path, name), bucket(t, s, string(name)))
	}
}

// readFolder returns the files in a folder.
func readFolder(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	ok(t, err)
	for _, e := range entries {
		all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		ok(t, err)
	}
	return all
}

// writeFolder creates a folder of files.
func writeFolder(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	ok(t, os.MkdirAll(dir, 0o777))
	for name, data := range files {
		ok(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
}

// wantFolder checks that a folder has exactly these files.
func wantFolder(t testing.TB, dir string, want map[string][]byte) {
	t.Helper()
	if !maps.EqualFunc(readFolder(t, dir), want, bytes.Equal) {
		t.Errorf("the files in %s have changed", dir)
	}
}

// readText returns a text file with any line endings normalised.
func readText(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	ok(t, err)
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// TestCompat opens the databases that earlier versions of Stoat wrote, reads them, and writes to
// them. With -compat.write it first rewrites those of the current format, which is allowed only
// until a release has written them.
func TestCompat(t *testing.T) {
	if *compatWrite {
		ok(t, os.RemoveAll(compatCurrent))
		for _, c := range compatCases() {
			dir := filepath.Join(compatCurrent, c.name)
			writeFolder(t, filepath.Join(dir, "db"), c.files(t))
			db := compatOpen(t, filepath.Join(dir, "db"), true, 0)
			ok(t, os.WriteFile(filepath.Join(dir, compatWant), []byte(listing(t, db)), 0o666))
			ok(t, db.Close())
			if c.later > 0 {
				db := compatOpen(t, filepath.Join(dir, "db"), true, c.later)
				ok(t, os.WriteFile(filepath.Join(dir, compatLater), []byte(listing(t, db)), 0o666))
				ok(t, db.Close())
			}
		}
	}
	all, err := filepath.Glob(filepath.Join(compatDir, "*", "*"))
	ok(t, err)
	for _, kept := range all {
		t.Run(filepath.ToSlash(strings.TrimPrefix(kept, filepath.FromSlash(compatDir)))[1:],
			func(t *testing.T) { checkCompat(t, kept) })
	}
	if len(all) < len(compatCases()) {
		t.Errorf("%d databases are kept, want %d at least: go test ./internal/testing/torture "+
			"-run TestCompat -compat.write", len(all), len(compatCases()))
	}
}

// checkCompat checks one database.
func checkCompat(t *testing.T, kept string) {
	files := readFolder(t, filepath.Join(kept, "db"))
	want := readText(t, filepath.Join(kept, compatWant))
	dir := filepath.Join(t.TempDir(), "db")
	writeFolder(t, dir, files)

	db := compatOpen(t, dir, true, 0)
	equal(t, listing(t, db), want)
	ok(t, db.Close())
	if later := filepath.Join(kept, compatLater); fileExists(later) {
		db := compatOpen(t, dir, true, time.Hour)
		equal(t, listing(t, db), readText(t, later))
		ok(t, db.Close())
	}
	wantFolder(t, dir, files)

	db = compatOpen(t, dir, false, 0)
	equal(t, listing(t, db), want)
	update(t, db, func(tx *stoat.Tx) {
		b := create(t, tx, "compat")
		put(t, b, "new", "newer")
		put(t, tx, "compat")
	})
	changed := listing(t, db)
	for _, step := range []func() error{
		db.Flush, func() error { return db.Compact(context.Background()) }, db.Close,
	} {
		equal(t, listing(t, db), changed)
		ok(t, step())
	}
	db = compatOpen(t, dir, false, 0)
	equal(t, listing(t, db), changed)
	update(t, db, func(tx *stoat.Tx) {
		ok(t, tx.DeleteBucket([]byte("compat")))
		ok(t, tx.Delete([]byte("compat")))
	})
	equal(t, listing(t, db), want)
	ok(t, db.Close())
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestCompat_keepsWhatItIsMeantToKeep(t *testing.T) {
	total := 0
	for _, c := range compatCases() {
		var text strings.Builder
		dir := filepath.Join(compatCurrent, c.name, "db")
		for name, data := range readFolder(t, dir) {
			_, err := inspect.File(&text, filepath.Join(dir, name), inspect.Options{Blocks: true})
			ok(t, err)
			total += len(data)
		}
		for _, want := range c.has {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: no file of it has %q", c.name, want)
			}
		}
	}
	if total > 200<<10 {
		t.Errorf("the databases have %d bytes, too much for a repository", total)
	}
}

func TestCompat_writesTheSameFilesAgain(t *testing.T) {
	for _, c := range compatCases() {
		sizes := func(files map[string][]byte) (all []string) {
			for name, data := range files {
				all = append(all, fmt.Sprint(name, " ", len(data)))
			}
			slices.Sort(all)
			return all
		}
		if first, second := sizes(c.files(t)), sizes(c.files(t)); !slices.Equal(first, second) {
			t.Errorf("%s: %q, then %q", c.name, first, second)
		}
	}
}

// newerVersion turns the files with a magic into those of a later version, with valid checksums.
func newerVersion(files map[string][]byte, magic string) (changed map[string][]byte) {
	const versionAt, sumAt, footerBytes = 8, 44, 88
	changed = maps.Clone(files)
	for name, data := range files {
		if !bytes.HasPrefix(data, []byte(magic)) {
			continue
		}
		data = bytes.Clone(data)
		data[versionAt]++
		binary.LittleEndian.PutUint32(data[sumAt:], checksum.Of(data[:sumAt]))
		if magic == "STOATTAB" {
			footer := data[len(data)-footerBytes:]
			footer[versionAt]++
			binary.LittleEndian.PutUint32(footer[84:], checksum.Of(footer[:84]))
		}
		changed[name] = data
	}
	return changed
}

func TestOpen_refusesFilesOfANewerVersion(t *testing.T) {
	for _, c := range []struct {
		magic, kept string
		lazy        bool // the file is opened at the first read
	}{
		{"STOATMAN", "plain", false}, {"STOATLOG", "log", false},
		{"STOATTAB", "plain", true}, {"STOATVAL", "values-in-files", true},
	} {
		files := newerVersion(readFolder(t, filepath.Join(compatCurrent, c.kept, "db")), c.magic)
		for _, readOnly := range []bool{true, false} {
			dir := filepath.Join(t.TempDir(), "db")
			writeFolder(t, dir, files)
			db, err := stoat.Open(dir, &stoat.Options{ReadOnly: readOnly})
			if c.lazy && !readOnly {
				ok(t, err)
				err = db.View(func(tx *stoat.Tx) error {
					for range tx.Scan(stoat.Range{}) {
						continue
					}
					return tx.Err()
				})
				err = errors.Join(err, db.Close())
			}
			wantErr(t, err, stoat.ErrFormat)
			if !strings.Contains(err.Error(), "newer version") || errors.Is(err, stoat.ErrCorrupt) {
				t.Errorf("%s, read-only %v: error %q", c.magic, readOnly, err)
			}
			if c.lazy && !readOnly { // the lock names another process, and closing may end a journal
				for name, data := range files {
					if bytes.HasPrefix(data, []byte(c.magic)) {
						got, err := os.ReadFile(filepath.Join(dir, name))
						ok(t, err)
						equal(t, bytes.Equal(got, data), true)
					}
				}
				continue
			}
			wantFolder(t, dir, files)
		}
	}
}
