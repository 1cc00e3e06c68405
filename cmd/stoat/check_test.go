package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

func TestCheck_saysThatAllIsWell(t *testing.T) {
	dir := overwritten(t)
	text := output(t, "check", dir)
	if !strings.HasPrefix(text, "ok: ") || !strings.Contains(text, " table") ||
		!strings.HasSuffix(text, " read\n") || strings.Count(text, "\n") != 1 {
		t.Errorf("check prints %q", text)
	}
	if text := output(t, "check", "-quick", dir); !strings.HasPrefix(text, "ok: ") {
		t.Errorf("check -quick prints %q", text)
	}
	var r checkReport
	if err := json.Unmarshal([]byte(output(t, "check", "-json", dir)), &r); err != nil {
		t.Fatal(err)
	}
	if !r.OK || r.Tables == 0 || r.CheckedBytes == 0 || len(r.Findings) > 0 {
		t.Errorf("check -json prints %+v", r)
	}
}

func TestCheck_leavesTheFolderAsItIs(t *testing.T) {
	dir := sample(t)
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	output(t, "check", dir)
	after, err := os.ReadDir(dir)
	if err != nil || len(before) != len(after) {
		t.Errorf("%v before, %v after, error %v", before, after, err)
	}
}

func TestCheck_worksBesideAnotherProcess(t *testing.T) {
	dir := sample(t)
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Put([]byte("in"), []byte("the log")); err != nil {
		t.Fatal(err)
	}
	output(t, "check", dir)
}

// damaged returns a database of which a byte of each table is flipped, and how many tables it has.
func damaged(t testing.TB) (dir string, tables int) {
	t.Helper()
	dir = overwritten(t)
	names, err := filepath.Glob(filepath.Join(dir, "*.table"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		p, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p[60] ^= 1
		if err := os.WriteFile(name, p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, len(names)
}

func TestCheck_listsWhatIsDamaged(t *testing.T) {
	dir, tables := damaged(t)
	r := execute(t, "", "check", dir)
	fails(t, r, exitDamaged, "is damaged", "restore a backup")
	if n := strings.Count(r.out, ".table at offset 48:"); n != tables ||
		strings.Count(r.out, "\n") != tables {
		t.Errorf("%d tables are damaged, check prints:\n%s", tables, r.out)
	}
	r = execute(t, "", "check", "-json", dir)
	fails(t, r, exitDamaged, "is damaged")
	var report checkReport
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatal(err)
	}
	if report.OK || len(report.Findings) != tables {
		t.Errorf("check -json prints %+v", report)
	}
	output(t, "check", "-quick", dir) // does not look there
}

func TestCheck_listsWhatKeepsADatabaseFromOpening(t *testing.T) {
	dir := sample(t)
	names, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	r := execute(t, "", "check", dir)
	fails(t, r, exitDamaged, "is damaged")
	if !strings.Contains(r.out, "MANIFEST") || strings.Count(r.out, "\n") != 1 {
		t.Errorf("check prints %q", r.out)
	}
}

func TestCheck_needsADatabase(t *testing.T) {
	fails(t, execute(t, "", "check"), exitUsage, "usage: stoat check")
	fails(t, execute(t, "", "check", filepath.Join(t.TempDir(), "none")), exitError, "no database")
}

func TestCheck_endsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newStdio(nil, io.Discard, io.Discard)
	if err := check(ctx, s, sample(t), checkOptions{}); !errors.Is(err, errInterrupted) {
		t.Errorf("check returns %v when interrupted", err)
	}
}
