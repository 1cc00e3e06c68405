package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/intake"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// imports runs a command line that must succeed and returns its summary.
func imports(t testing.TB, args ...string) (r intake.Report) {
	t.Helper()
	var out, complaint bytes.Buffer
	if code := run(t.Context(), append(args, "-json"), &out, &complaint); code != exitOK {
		t.Fatalf("exit code %d: %s", code, complaint.String())
	}
	ok(t, json.Unmarshal(out.Bytes(), &r))
	return r
}

// fails runs a command line that must fail with the code and the words.
func fails(t testing.TB, code int, words string, args ...string) {
	t.Helper()
	var complaint bytes.Buffer
	got := run(t.Context(), args, io.Discard, &complaint)
	if got != code || !strings.Contains(complaint.String(), words) {
		t.Errorf("%q: exit code %d, want %d; stderr %q, want %q in it", args, got, code,
			complaint.String(), words)
	}
}

// dump returns all that is in a database: a line for each key and each bucket with its sequence.
func dump(t testing.TB, dir string) string {
	t.Helper()
	return dumpKeyed(t, dir, nil)
}

// dumpKeyed is dump of a database that is encrypted with a key, unless that is nil.
func dumpKeyed(t testing.TB, dir string, key []byte) string {
	t.Helper()
	db, err := stoat.Open(dir, &stoat.Options{ReadOnly: true, Key: key})
	ok(t, err)
	var b strings.Builder
	ok(t, db.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Range{}) {
			fmt.Fprintf(&b, "%s=%s\n", key, value)
		}
		for name := range tx.Buckets() {
			inner, err := tx.Bucket(name)
			ok(t, err)
			dumpBucket(t, &b, inner, string(name))
		}
		return nil
	}))
	ok(t, db.Close())
	return b.String()
}

func dumpBucket(t testing.TB, to io.Writer, in *stoat.Bucket, path string) {
	t.Helper()
	n, err := in.Sequence()
	ok(t, err)
	fmt.Fprintf(to, "%s #%d\n", path, n)
	for key, value := range in.Scan(stoat.Range{}) {
		fmt.Fprintf(to, "%s/%s=%s\n", path, key, value)
	}
	for name := range in.Buckets() {
		inner, err := in.Bucket(name)
		ok(t, err)
		dumpBucket(t, to, inner, path+"/"+string(name))
	}
}

// countdown is a context that ends when it was asked for its error so often.
type countdown struct {
	context.Context
	left int
}

// Err implements context.Context.
func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// goesOn interrupts an import after every number of steps and wants the runs that follow, each
// interrupted after so many steps too, to end up with what a single one has.
func goesOn(t *testing.T, args ...string) {
	t.Helper()
	want := filepath.Join(t.TempDir(), "want")
	imports(t, append(args, want)...)
	for steps := 1; ; steps++ {
		db := filepath.Join(t.TempDir(), "db")
		o, err := parse(append(args, db))
		ok(t, err)
		o.recordsMax = 2
		runs := 0
		for {
			runs++
			var out bytes.Buffer
			err := o.run(&countdown{t.Context(), steps}, &out, io.Discard)
			if err == nil {
				break
			}
			if !strings.HasPrefix(err.Error(), "interrupted; ") || runs > 1000 {
				t.Fatal(err)
			}
		}
		equal(t, dump(t, db), dump(t, want))
		if runs == 1 {
			return
		}
	}
}

func TestRun_refusesWrongArguments(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	text := filepath.Join(dir, "text")
	ok(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600))
	for _, args := range [][]string{
		{db}, {"-bolt", text}, {"-bolt", text, "-badger", dir, db}, {"-bolt", text, db, "more"},
		{"-bolt", text, db, "-bucket", "a//b"}, {"-colour", db}, {"-bolt", text, ""},
	} {
		fails(t, exitUsage, "run stoat-import -help", args...)
	}
	fails(t, exitError, "as a bbolt database", db, "-bolt", text)
	fails(t, exitError, "none", "-bolt", filepath.Join(dir, "none"), db)
	fails(t, exitError, "none", "-badger", filepath.Join(dir, "none"), db)
	fails(t, exitError, "has no Badger files", "-badger", dir, db)
	if _, err := os.Stat(db); !os.IsNotExist(err) {
		t.Errorf("a database was created (%v)", err)
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"-help"}, &out, io.Discard); code != exitOK ||
		!strings.Contains(out.String(), "-bolt FILE") {
		t.Errorf("exit code %d, help %s", code, out.String())
	}
}
