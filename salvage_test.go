package stoat_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestSalvageReport_fitsOnATerminal(t *testing.T) {
	long := strings.Repeat("long\xff", 50)
	r := &stoat.SalvageReport{Source: long, Destination: long, Values: 5000, Transactions: 3,
		Manifest: "MANIFEST-000012"}
	for range 30 {
		r.Keys = append(r.Keys, stoat.SalvageKey{Bucket: []string{long}, Key: []byte(long), Why: long})
		r.Ranges = append(r.Ranges, stoat.SalvageRange{
			Bucket: []string{long}, Start: []byte(long), End: []byte(long), File: "000012.table",
		})
		r.Problems = append(r.Problems, stoat.SalvageDamage{File: "000012.table", What: long})
		r.Buckets = append(r.Buckets, long)
	}
	text := r.String()
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	for _, part := range []string{"3 transactions", "and 4980 more", "and 10 more"} {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q:\n%s", part, text)
		}
	}
}

func TestSalvage_makesABranchOfItsOwn(t *testing.T) {
	files := memfs.New()
	db := openOn(t, files, nil)
	ok(t, db.Put([]byte("k"), nil))
	ok(t, db.Close())
	_, err := tuned.Salvage(context.Background(), files, "db", "new", salvage.Sizes{})
	ok(t, err)
	before, err := manifest.Load(files, "db")
	ok(t, err)
	after, err := manifest.Load(files, "new")
	ok(t, err)
	if b, a := before.Version.Branch, after.Version.Branch; b == 0 || a == 0 || a == b {
		t.Errorf("branch %x is salvaged to %x", b, a)
	}
}

func TestSalvage_refusesADatabaseThatIsOpen(t *testing.T) {
	files := memfs.New()
	db := openOn(t, files, nil)
	ok(t, db.Put([]byte("k"), nil))
	_, err := tuned.Salvage(context.Background(), files, "db", "new", salvage.Sizes{})
	wantErr(t, err, stoat.ErrLocked)
	ok(t, db.Close())
}

// guarded is a file system with a file that must not be read.
type guarded struct {
	vfs.FS
	file string
}

func (g guarded) OpenFolder(dir string) (vfs.Folder, error) {
	folder, err := g.FS.OpenFolder(dir)
	return guardedFolder{folder, g.file}, err
}

type guardedFolder struct {
	vfs.Folder
	file string
}

func (g guardedFolder) Open(name string) (vfs.File, error) {
	if filepath.Base(name) == g.file {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return g.Folder.Open(name)
}

func TestSalvage_doesNotTakeForLostWhatItMustNotRead(t *testing.T) {
	files := memfs.New()
	db := openOn(t, files, nil)
	ok(t, db.Put([]byte("table"), nil))
	ok(t, db.Put([]byte("large"), make([]byte, 100_000)))
	ok(t, db.Flush())
	ok(t, db.Put([]byte("log"), nil))
	ok(t, db.Close())
	names, err := files.List("db")
	ok(t, err)
	for _, name := range names {
		if name == "LOCK" {
			continue
		}
		_, err := tuned.Salvage(context.Background(), guarded{files, name}, "db", "new",
			salvage.Sizes{})
		wantErr(t, err, fs.ErrPermission)
		text := err.Error()
		if !strings.Contains(text, name) || !strings.Contains(text, "right to read") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		if made, err := files.List("new"); err == nil && len(made) > 0 {
			t.Errorf("%s: the new database has %v", name, made)
		}
	}
}

func TestSalvage_leavesANumberIfSomethingIsLost(t *testing.T) {
	files := memfs.New()
	db := openOn(t, files, nil)
	ok(t, db.Put([]byte("kept"), nil))
	ok(t, db.Flush())
	ok(t, db.Put([]byte("lost"), nil))
	ok(t, db.Close())
	if n := salvageNumber(t, files, "db"); n != 0 {
		t.Errorf("a database has the number %d", n)
	}
	salvageTo(t, files, "db", "whole", false)
	if n := salvageNumber(t, files, "whole"); n != 0 {
		t.Errorf("a salvage without a loss leaves the number %d", n)
	}
	names, err := files.List("db")
	ok(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".table") {
			ok(t, files.Remove(filepath.Join("db", name)))
			break
		}
	}
	salvageTo(t, files, "db", "one", true)
	salvageTo(t, files, "db", "two", true)
	one, two := salvageNumber(t, files, "one"), salvageNumber(t, files, "two")
	if one == 0 || two == 0 || one == two {
		t.Errorf("two salvages leave the numbers %d and %d", one, two)
	}
	salvageTo(t, files, "one", "again", false)
	db, err = tuned.Open(files, "again", nil, engine.Tuning{})
	ok(t, err)
	ok(t, db.Compact(context.Background()))
	ok(t, tuned.Backup(context.Background(), db, files, "backup", false))
	ok(t, db.Close())
	for _, dir := range []string{"again", "backup"} {
		if n := salvageNumber(t, files, dir); n != one {
			t.Errorf("%s has the number %d, want %d", dir, n, one)
		}
	}
}

// salvageTo salvages a database, and wants that something is lost, or nothing.
func salvageTo(t *testing.T, files vfs.FS, from, to string, lost bool) {
	t.Helper()
	r, err := tuned.Salvage(context.Background(), files, from, to, salvage.Sizes{})
	ok(t, err)
	if r.Lost() != lost {
		t.Fatalf("lost: %t, want %t: %s", r.Lost(), lost, r)
	}
}

// salvageNumber returns what Tx.Salvaged says of a database.
func salvageNumber(t *testing.T, files vfs.FS, dir string) uint64 {
	t.Helper()
	db, err := tuned.Open(files, dir, nil, engine.Tuning{})
	ok(t, err)
	ok(t, db.Check(context.Background()))
	var n uint64
	ok(t, db.View(func(tx *stoat.Tx) (err error) {
		n, err = tx.Salvaged()
		return err
	}))
	ok(t, db.Close())
	return n
}

func TestSalvageReport_countsEverythingThatIsLost(t *testing.T) {
	if r := (&stoat.SalvageReport{Manifest: "MANIFEST-000012", MoreProblems: 1}); r.Lost() {
		t.Errorf("lost: %s", r)
	}
	for _, r := range []stoat.SalvageReport{
		{Older: true}, {Blocks: 1}, {Transactions: 1}, {MoreRanges: 1}, {Values: 1},
		{Ranges: []stoat.SalvageRange{{}}}, {Buckets: []string{"lost-1"}},
	} {
		r.Manifest = "MANIFEST-000012"
		if !r.Lost() || strings.Contains(r.String(), "Nothing is lost") {
			t.Errorf("%+v is no loss: %s", r, r.String())
		}
	}
}
