package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// result is what a command line has printed and returned.
type result struct {
	code     int
	out, err string
}

// execute runs a command line until ctx ends.
func execute(ctx context.Context, args ...string) result {
	var out, err bytes.Buffer
	code := run(ctx, args, &out, &err)
	return result{code, out.String(), err.String()}
}

// output runs a command line that must succeed, without a word on stderr, and returns its output.
func output(t testing.TB, args ...string) string {
	t.Helper()
	r := execute(t.Context(), args...)
	if r.code != exitOK || r.err != "" {
		t.Fatalf("stoat remote %q: exit code %d, stderr: %s", args, r.code, r.err)
	}
	return r.out
}

// fails runs a command line that must fail with the code and with each of the words on stderr, in
// one message, which may have several lines.
func fails(t testing.TB, code int, args []string, words ...string) {
	t.Helper()
	r := execute(t.Context(), args...)
	if r.code != code {
		t.Errorf("stoat remote %q: exit code %d, want %d; stderr: %s", args, r.code, code, r.err)
	}
	if !strings.HasPrefix(r.err, "stoat-remote: ") || strings.Count(r.err, "stoat-remote: ") != 1 {
		t.Errorf("stoat remote %q: stderr %q, want one message", args, r.err)
	}
	for _, word := range words {
		if !strings.Contains(r.err, word) {
			t.Errorf("stoat remote %q: stderr %q, want %q in it", args, r.err, word)
		}
	}
}

// contains fails the test unless a text has all words.
func contains(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in\n%s", word, text)
		}
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newDB makes a database of n keys, in tables.
func newDB(t testing.TB, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	put(t, dir, 0, n)
	return dir
}

// put stores the keys from one number up to another one, each in a commit.
func put(t testing.TB, dir string, from, to int) {
	t.Helper()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	for i := from; i < to; i++ {
		ok(t, db.Put(fmt.Appendf(nil, "key%03d", i), fmt.Appendf(nil, "value%d", i)))
	}
	ok(t, db.Flush())
	ok(t, db.Close())
}

// shipped returns a database of n keys, and the folder that it was shipped to.
func shipped(t testing.TB, n int) (dir, store string) {
	t.Helper()
	dir, store = newDB(t, n), filepath.Join(t.TempDir(), "store")
	output(t, "init", dir, store)
	return dir, store
}

// wantKeys fails the test unless a folder holds a database of n keys.
func wantKeys(t testing.TB, dir string, n int) {
	t.Helper()
	db, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	found := 0
	ok(t, db.View(func(tx *stoat.Tx) error {
		for range tx.Keys(stoat.Range{}) {
			found++
		}
		return tx.Err()
	}))
	ok(t, db.Close())
	if found != n {
		t.Errorf("the database has %d keys, want %d", found, n)
	}
}

// compact replaces the files of a database.
func compact(t testing.TB, dir string) {
	t.Helper()
	put(t, dir, 0, 50)
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	ok(t, db.Compact(t.Context()))
	ok(t, db.Close())
}
