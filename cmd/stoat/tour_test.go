package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoatdb/stoat"
)

// newFolder returns a folder with some files, a file in a folder, an empty one, and a link.
func newFolder(t testing.TB) (dir string, files int) {
	t.Helper()
	dir = t.TempDir()
	write := func(name string, data []byte) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		files++
	}
	for i := range 50 {
		write(fmt.Sprintf("src/net/http/file%d.go", i), []byte(strings.Repeat("line\n", i*10)))
		write(fmt.Sprintf("src/net/http-%d", i), []byte{byte(i), 0, 0xff})
	}
	write("src/net/http/inner/x.go", []byte("package inner\n"))
	write("empty", nil)
	if runtime.GOOS != "windows" {
		if err := os.Symlink("empty", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	return dir, files
}

func TestTour_showsEachStepWithin80Columns(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir, files := newFolder(t)
	text := output(t, "tour", "-dir", dir)
	for line := range strings.Lines(text) {
		if strings.Contains(line, dir) || strings.Contains(line, os.TempDir()) {
			continue // as long as the path is
		}
		if n := utf8.RuneCountInString(line) - 1; n > 79 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	for _, part := range []string{
		"\n1  load ", fmt.Sprintf("  %d files, ", files), "\n2  close ", "\n   compact ",
		"\n3  random gets, cold ", "\n4  prefix scan         51 in src/net/http/ ",
		"\n5  key-only scan ", "\n6  old snapshot ", "stands still", "\n7  kill a writer ",
		" 0 lost\n", "\n8  compare all ", "all identical", "\nAll is as it should be.\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestTour_reportsAsJSON(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir, files := newFolder(t)
	var r tourReport
	if err := json.Unmarshal([]byte(output(t, "tour", "-json", "-dir", dir)), &r); err != nil {
		t.Fatal(err)
	}
	if !r.OK || r.Error != "" || r.Load.Files != files || r.Keys.Keys != files ||
		r.Compare.Keys != files || r.Compare.Bytes != r.Load.Bytes || r.Prefix.Keys != 51 {
		t.Errorf("report: %+v", r)
	}
	if s := r.Snapshot; s.OldKeys != files || s.NewKeys != files-s.Deleted+s.Added || s.Scans == 0 {
		t.Errorf("snapshot: %+v", s)
	}
	if c := r.Crash; c.Acknowledged == 0 || c.Found < c.Acknowledged || c.Lost != 0 {
		t.Errorf("crash: %+v", c)
	}
	if links := r.Skipped.Links; runtime.GOOS != "windows" && links != 1 {
		t.Errorf("%d links skipped, want 1", links)
	}
	if _, err := os.Stat(r.Database); !os.IsNotExist(err) {
		t.Errorf("the database is still there: %v", err)
	}
}

func TestTour_keepsTheDatabaseOnDemand(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir, files := newFolder(t)
	db := filepath.Join(t.TempDir(), "kept.db")
	output(t, "tour", "-dir", dir, "-keep", db)
	if n := strings.Count(output(t, "keys", db), "\n"); n != files {
		t.Errorf("%d keys are kept, want %d", n, files)
	}
	equal(t, output(t, "get", db, "src/net/http/inner/x.go"), "package inner\n")
	equal(t, output(t, "buckets", db), "")
	fails(t, execute(t, "", "tour", "-dir", dir, "-keep", db), exitError, "already exists")
}

func TestTour_saysHowToReadAFolderWithoutFolders(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "kept.db")
	text := output(t, "tour", "-dir", dir, "-keep", db)
	if want := "stoat keys " + db + " -limit 10\n"; !strings.HasSuffix(text, want) {
		t.Errorf("the tour ends with %q, want %q", text[max(0, len(text)-200):], want)
	}
}

func TestTour_refusesAFolderWithoutFiles(t *testing.T) {
	empty := t.TempDir()
	fails(t, execute(t, "", "tour", "-dir", empty), exitError, "no files")
	r := execute(t, "", "tour", "-json", "-dir", filepath.Join(empty, "none"))
	fails(t, r, exitError, "none")
	var report tourReport
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || report.OK || report.Error == "" {
		t.Errorf("report %q (%v)", r.out, err)
	}
}

// newTour returns a tour that prints nothing, before its first step.
func newTour(t *testing.T, dir string) *tour {
	t.Helper()
	tree, err := readTree(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	s := newStdio(nil, io.Discard, io.Discard)
	db := filepath.Join(t.TempDir(), "db")
	to := &tour{ctx: t.Context(), s: s, quiet: true, tree: tree, dir: db}
	t.Cleanup(func() {
		if err := to.close(); err != nil {
			t.Error(err)
		}
	})
	return to
}

// loadedTour returns a tour after its first step.
func loadedTour(t *testing.T, dir string) *tour {
	t.Helper()
	to := newTour(t, dir)
	if err := to.load(); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestTour_skipsFilesThatCannotBeRead(t *testing.T) {
	dir, files := newFolder(t)
	to := newTour(t, dir)
	if err := os.Remove(filepath.Join(dir, "empty")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(to.load(), to.compare()); err != nil {
		t.Fatal(err)
	}
	if r := to.report; r.Skipped.Unreadable != 1 || r.Load.Files != files-1 {
		t.Errorf("%d files loaded of %d, %+v", r.Load.Files, files, r.Skipped)
	}
	to = newTour(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, "src")); err != nil {
		t.Fatal(err)
	}
	if err := to.load(); err == nil || !strings.Contains(err.Error(), "no files that can be read") {
		t.Errorf("load without any file returns %v", err)
	}
}

func TestTour_endsWhenInterrupted(t *testing.T) {
	dir, _ := newFolder(t)
	to := loadedTour(t, dir)
	var cancel func()
	to.ctx, cancel = context.WithCancel(t.Context())
	cancel()
	for name, step := range map[string]func() error{
		"walk": to.walk, "load": to.load, "crash": to.crash,
	} {
		if err := to.close(); err != nil {
			t.Fatal(err)
		}
		if err := step(); !errors.Is(err, errInterrupted) {
			t.Errorf("%s returns %v when interrupted", name, err)
		}
	}
}

func TestTour_namesTheFileThatDiffers(t *testing.T) {
	const name = "src/net/http/file7.go"
	for what, change := range map[string]func(tx *stoat.Tx) error{
		"a byte":  func(tx *stoat.Tx) error { return tx.Put([]byte(name), []byte("other")) },
		"missing": func(tx *stoat.Tx) error { return tx.Delete([]byte(name)) },
		"added":   func(tx *stoat.Tx) error { return tx.Put([]byte(name+"x"), nil) },
		"last":    func(tx *stoat.Tx) error { return tx.Put([]byte("~"+name), nil) },
	} {
		t.Run(what, func(t *testing.T) {
			dir, _ := newFolder(t)
			to := loadedTour(t, dir)
			if err := to.compare(); err != nil {
				t.Fatal(err)
			}
			if err := to.db.Update(change); err != nil {
				t.Fatal(err)
			}
			if err := to.compare(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("compare returns %v, want an error that names %s", err, name)
			}
		})
	}
}

func TestTour_missesLostCommits(t *testing.T) {
	dir, _ := newFolder(t)
	to := loadedTour(t, dir)
	err := to.db.Update(func(tx *stoat.Tx) error {
		b, err := tx.CreateBucket([]byte(crashBucket))
		if err != nil {
			return err
		}
		for _, n := range []int{0, 1, 3} {
			if err := b.Put(crashEntry(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := to.db.Update(new(crashReport).collect); err == nil {
		t.Error("a commit in the middle is missing, and nothing is said")
	}
}

func TestTour_reportsAWriterThatEndsByItself(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir, _ := newFolder(t)
	to := loadedTour(t, dir) // holds the lock, so that the writer cannot start
	if err := to.runAndKill(new(crashReport)); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("got %v, want what the writer complains of", err)
	}
}

func TestReadTree_sortsByName(t *testing.T) {
	dir, files := newFolder(t)
	tree, err := readTree(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.files) != files {
		t.Errorf("%d files, want %d", len(tree.files), files)
	}
	for i := 1; i < len(tree.files); i++ {
		if tree.files[i-1].name >= tree.files[i].name {
			t.Errorf("%s stands before %s", tree.files[i-1].name, tree.files[i].name)
		}
	}
	if tree, err := readTree(dir, "src"); err != nil || len(tree.files) != files-1 ||
		!strings.HasPrefix(tree.files[0].name, "src/") {
		t.Errorf("the folder src is read as %+v (%v)", tree, err)
	}
}

func TestSourceTree_choosesThePrefix(t *testing.T) {
	for want, names := range map[string][]string{
		"":              {"a", "b"},
		"b/":            {"a/1", "b/1", "b/2", "c"},
		"src/net/http/": {"src/a/1", "src/a/2", "src/net/http/1"},
	} {
		tree := new(sourceTree)
		for _, name := range names {
			tree.files = append(tree.files, sourceFile{name: name})
		}
		if got := tree.prefix(); got != want {
			t.Errorf("prefix of %q is %q, want %q", names, got, want)
		}
	}
}
