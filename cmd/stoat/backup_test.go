package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

func TestBackup_isRestoredToTheSame(t *testing.T) {
	db := sample(t)
	parent := t.TempDir()
	dir, again := filepath.Join(parent, "backup"), filepath.Join(parent, "restored")
	text := output(t, "backup", db, dir)
	if !strings.HasPrefix(text, "backup of ") || !strings.Contains(text, " copied (") ||
		!strings.HasSuffix(text, ", 0 kept\n") {
		t.Errorf("the first backup prints %q", text)
	}
	equal(t, output(t, "dump", dir), output(t, "dump", db))
	text = output(t, "backup", db, dir)
	if !strings.Contains(text, "0 files copied (0 B)") || strings.Contains(text, " 0 kept") {
		t.Errorf("the second backup prints %q", text)
	}
	text = output(t, "restore", dir, again)
	if !strings.HasPrefix(text, "restored ") || !strings.Contains(text, "to "+again+": ") {
		t.Errorf("restore prints %q", text)
	}
	output(t, "put", again, "new", "1")
	output(t, "del", again, "new")
	equal(t, output(t, "dump", again), output(t, "dump", db))
	fails(t, execute(t, "", "backup", db, again), exitError, "written to", "choose another directory")
}

func TestBackup_ofAnOpenDatabaseHasWhatIsCommitted(t *testing.T) {
	dir := sample(t)
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"one", "two"} {
		if err := db.Put([]byte(key), []byte("in the log")); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(filepath.Dir(dir), "backup")
		text := output(t, "backup", dir, to)
		if !strings.HasPrefix(text, "backup of ") {
			t.Errorf("backup prints %q", text)
		}
		equal(t, output(t, "dump", to), output(t, "dump", dir))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBackup_leavesWhatItReadsAlone makes a backup of a backup, and of a database that was not
// closed.
func TestBackup_leavesWhatItReadsAlone(t *testing.T) {
	dir := sample(t)
	parent := filepath.Dir(dir)
	to, offsite := filepath.Join(parent, "backup"), filepath.Join(parent, "offsite")
	output(t, "backup", dir, to)
	before := contents(t, to)
	output(t, "backup", to, offsite)
	if !maps.Equal(contents(t, to), before) {
		t.Error("a backup of the backup has changed it")
	}
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Put([]byte("new"), []byte("in the log")); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(parent, "killed")
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before = contents(t, killed)
	output(t, "backup", killed, to)
	if !maps.Equal(contents(t, killed), before) {
		t.Error("a backup of a database that was not closed has changed it")
	}
	equal(t, strings.TrimSpace(output(t, "get", to, "new")), "in the log")
	output(t, "backup", dir, to)
	output(t, "backup", to, offsite)
	equal(t, output(t, "dump", offsite), output(t, "dump", dir))
}

// contents returns what the files in a folder hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

func TestBackup_linksOnDemand(t *testing.T) {
	db := sample(t)
	dir := filepath.Join(filepath.Dir(db), "backup")
	if text := output(t, "backup", "-link", db, dir); !strings.Contains(text, "linked or copied") {
		t.Errorf("backup prints %q", text)
	}
	equal(t, output(t, "dump", dir), output(t, "dump", db))
}

func TestBackup_endsWhenInterrupted(t *testing.T) {
	db := sample(t)
	dir := filepath.Join(filepath.Dir(db), "backup")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newStdio(nil, io.Discard, io.Discard)
	c := &copying{s: s, label: "backup", to: dir}
	if err := copyReadOnly(ctx, db, c, "backup of %s in %s"); !errors.Is(err, errInterrupted) {
		t.Errorf("backup returns %v when interrupted", err)
	}
	fails(t, execute(t, "", "dump", dir), exitError, "no database")
	output(t, "restore", db, dir) // finds nothing that is not of a backup
}

func TestBackup_refusesWhatItCannotDo(t *testing.T) {
	db := sample(t)
	parent := filepath.Dir(db)
	fails(t, execute(t, "", "backup", filepath.Join(parent, "none"), parent), exitError, "no database")
	fails(t, execute(t, "", "backup", db, filepath.Join(db, "within")), exitError, "choose another")
	mine := filepath.Join(parent, "mine")
	if err := os.MkdirAll(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mine, "report.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, execute(t, "", "backup", db, mine), exitError, "report.txt", "choose an empty directory")
	fails(t, execute(t, "", "restore", db, mine), exitError, "report.txt", "choose a new name")
	fails(t, execute(t, "", "restore", db, db), exitError, "not empty")
}
