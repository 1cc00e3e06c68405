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
	"github.com/stoatdb/stoat/internal/testing/symlink"
)

// fitsTerminal wants all lines of a text to fit on a terminal.
func fitsTerminal(t testing.TB, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

func TestSalvage_copiesADatabaseWithoutDamage(t *testing.T) {
	db := sample(t)
	to := filepath.Join(t.TempDir(), "new.db")
	text := output(t, "salvage", db, to)
	if !strings.Contains(text, "Nothing is lost.") {
		t.Errorf("the report: %s", text)
	}
	equal(t, output(t, "dump", to), output(t, "dump", db))
}

func TestSalvage_saysWhatIsLost(t *testing.T) {
	db := overwritten(t)
	flip(t, fileOf(t, db, "*.table"))
	for _, flags := range [][]string{nil, {"-json"}} {
		to := filepath.Join(t.TempDir(), "new.db")
		r := execute(t, "", append([]string{"salvage", db, to}, flags...)...)
		fails(t, r, exitDamaged, "not all")
		if flags == nil {
			fitsTerminal(t, r.out)
			if !strings.Contains(r.out, ".table") {
				t.Errorf("the report names no file:\n%s", r.out)
			}
		} else {
			var report stoat.SalvageReport
			if err := json.Unmarshal([]byte(r.out), &report); err != nil || !report.Lost() {
				t.Errorf("the report %s: %v", r.out, err)
			}
		}
		output(t, "dump", to)
	}
}

func TestSalvage_refusesAFolderThatIsInUse(t *testing.T) {
	db, other := sample(t), sample(t)
	fails(t, execute(t, "", "salvage", db, other), exitError, "empty directory")
	within := filepath.Join(db, "new")
	fails(t, execute(t, "", "salvage", db, within), exitError, "another directory")
	if _, err := os.Stat(within); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the source was written to: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "none")
	fails(t, execute(t, "", "salvage", missing, filepath.Join(t.TempDir(), "new")), exitError,
		"no database at "+missing)
	open, err := stoat.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "new")
	fails(t, execute(t, "", "salvage", db, to), exitError, "end that process first")
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory was made in vain: %v", err)
	}
}

func TestSalvage_leavesNothingWhenInterrupted(t *testing.T) {
	db, to := sample(t), filepath.Join(t.TempDir(), "new")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newStdio(nil, io.Discard, io.Discard)
	if err := salvage(ctx, s, db, to, false); !errors.Is(err, errInterrupted) {
		t.Errorf("salvage returns %v when interrupted", err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the new directory stays: %v", err)
	}
}

func TestSalvage_followsNoSymbolicLink(t *testing.T) {
	db := sample(t)
	table := fileOf(t, db, "*.table")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(table, elsewhere); err != nil {
		t.Fatal(err)
	}
	symlink.Make(t, elsewhere, table)
	r := execute(t, "", "salvage", db, filepath.Join(t.TempDir(), "new"))
	fails(t, r, exitDamaged)
	if !strings.Contains(r.out, "no regular file") {
		t.Errorf("the report: %s", r.out)
	}
}
