package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asCommand is the variable that makes the test binary the command: the tour starts itself again.
const asCommand = "STOAT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	for _, p := range []program{importProgram, shellProgram, replicaProgram, studioProgram} {
		if strings.HasPrefix(name, p.name) {
			os.Exit(asProgram(name, os.Args[1:]))
		}
	}
	if os.Getenv(asCommand) != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// result is what a command line has printed and returned.
type result struct {
	code     int
	out, err string
}

// execute runs a command line with the given standard input.
func execute(t testing.TB, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := run(args, strings.NewReader(stdin), &out, &err)
	return result{code, out.String(), err.String()}
}

// output runs a command line that must succeed, without a word on stderr, and returns its output.
func output(t testing.TB, args ...string) string {
	t.Helper()
	r := execute(t, "", args...)
	if r.code != exitOK || r.err != "" {
		t.Fatalf("stoat %q: exit code %d, stderr: %s", args, r.code, r.err)
	}
	return r.out
}

// fails runs a command line that must fail with the code and with every one of the words on stderr.
func fails(t testing.TB, r result, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d; stderr: %s", r.code, code, r.err)
	}
	for strings.HasPrefix(r.err, "stoat: warning: ") {
		_, r.err, _ = strings.Cut(r.err, "\n")
	}
	if !strings.HasPrefix(r.err, "stoat: ") || !strings.HasSuffix(r.err, "\n") {
		t.Errorf("stderr %q, want one message of stoat", r.err)
	}
	for _, word := range words {
		if !strings.Contains(r.err, word) {
			t.Errorf("stderr %q, want %q in it", r.err, word)
		}
	}
}

// equal compares what was printed.
func equal(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// sample returns the path of a new database with a few keys and buckets.
func sample(t testing.TB) string {
	t.Helper()
	db := filepath.Join(t.TempDir(), "sample.db")
	for _, args := range [][]string{
		{"put", db, "ant", "1"},
		{"put", db, "bee", "2"},
		{"put", db, "beetle", ""},
		{"put", db, "cow", "two\nlines"},
		{"put", db, "-bucket", "a/b", "deep", "in b"},
		{"put", db, "-bucket", "a/c", "deep", "in c"},
		{"put", db, "-bucket", `s\/t`, "key", "value"},
		{"put", db, "-hex", "ff00", "00ff"},
	} {
		output(t, args...)
	}
	return db
}
