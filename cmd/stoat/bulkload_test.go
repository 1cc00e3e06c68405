package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// rootDump returns a dump of n keys of the root bucket.
func rootDump(n int) string {
	var text strings.Builder
	fmt.Fprintln(&text, `{"stoat":2}`)
	for i := range n {
		fmt.Fprintf(&text, `{"key":"%06d","value":"value %d"}`+"\n", i, i)
	}
	fmt.Fprintln(&text, `{"end":true}`)
	return text.String()
}

func TestBulkLoad_loadsWhatDumpWrites(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	text := rootDump(3000)
	for range 2 { // the second time over itself
		r := execute(t, text, "bulk-load", db)
		if r.code != exitOK || !strings.HasPrefix(r.out, "3,000 entries, 46.9 kB in ") {
			t.Fatalf("exit code %d, it prints %q and %q", r.code, r.out, r.err)
		}
		equal(t, output(t, "dump", db), text)
	}
	file := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(file, []byte(rootDump(1)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if got := output(t, "bulk-load", other, file); !strings.HasPrefix(got, "1 entry, 13 B in ") {
		t.Errorf("it prints %q", got)
	}
	if r := execute(t, rootDump(0), "bulk-load", other, "-"); r.code != exitOK {
		t.Error(r.err)
	}
	equal(t, output(t, "dump", other), rootDump(1))
}

func TestBulkLoad_loadsBytesThatAreNoText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "filled")
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		return errors.Join(fill(tx, "root"), tx.SetSequence(0))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	text := output(t, "dump", dir)
	copied := filepath.Join(t.TempDir(), "copied")
	if r := execute(t, text, "bulk-load", copied); r.code != exitOK {
		t.Fatal(r.err)
	}
	equal(t, output(t, "dump", copied), text)
}

func TestBulkLoad_loadsAllOrNothing(t *testing.T) {
	for line, complaint := range map[string]string{
		"hello":                                  "not what dump writes",
		`{"key":"a","value":"b","colour":"red"}`: "not a field of a dump",
		`{"stoat":2}`:                            "a second header",
		`{"key":"","value":"b"}`:                 "key",
		`{"bucket":["a","b"],"key":"c","value":""}`: `the bucket a/b, and only one bucket`,
		`{"bucket64":["/w=="],"sequence":0}`:        `the bucket \xff, and only one bucket`,
		`{"bucket":["a"],"sequence":7}`:             `say which with -bucket`,
		`{"sequence":7}`:                            `a sequence, and only keys and values`,
	} {
		t.Run(line, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "db")
			text := strings.Replace(rootDump(2000), `{"end":true}`, line+"\n"+`{"end":true}`, 1)
			fails(t, execute(t, text, "bulk-load", db), exitError, "standard input line 2002: ",
				complaint, "; nothing was loaded")
			equal(t, output(t, "scan", db), "")
		})
	}
	whole := rootDump(2000)
	for text, complaint := range map[string]string{
		strings.TrimSuffix(whole, `{"end":true}`+"\n"): "line 2002: the dump is cut short",
		whole + "\n": "line 2003: there is more after the end",
	} {
		db := filepath.Join(t.TempDir(), "db")
		fails(t, execute(t, text, "bulk-load", db), exitError, complaint, "nothing was loaded")
		equal(t, output(t, "scan", db), "")
	}
}

func TestBulkLoad_createsNothingForWhatIsNoDump(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	fails(t, execute(t, "hello\n", "bulk-load", db), exitError, "standard input line 1: ",
		"not a dump")
	fails(t, execute(t, "", "bulk-load", db, filepath.Join(dir, "none")), exitError, "none")
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || names != nil {
		t.Errorf("bulk-load created %q (%v)", names, err)
	}
}

// interrupter is a dump that an interrupt meets while it is read.
type interrupter struct {
	io.Reader
	left      int // bytes until then
	interrupt func()
}

func (r *interrupter) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p[:min(len(p), 500)])
	if r.left -= n; r.left <= 0 {
		r.interrupt()
	}
	return n, err
}

func TestBulkLoad_loadsNothingWhenInterrupted(t *testing.T) {
	text := rootDump(2000)
	for _, after := range []int{0, len(text) / 2, len(text)} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		db := filepath.Join(t.TempDir(), "db")
		var out bytes.Buffer
		s := newStdio(&interrupter{strings.NewReader(text), after, cancel}, &out, io.Discard)
		in, err := openDump(ctx, s, nil)
		if err == nil {
			err = bulkLoad(ctx, s, db, nil, in)
		}
		if !errors.Is(err, errInterrupted) || err.Error() != "interrupted; nothing was loaded" {
			t.Errorf("interrupted after %d bytes, it returns %v", after, err)
		}
		equal(t, out.String(), "")
		if _, err := os.Stat(db); err == nil {
			equal(t, output(t, "scan", db), "")
		}
	}
}

func TestBulkLoad_loadsIntoABucket(t *testing.T) {
	root := rootDump(3000)
	named := strings.ReplaceAll(root, `{"key"`, `{"bucket":["a","b"],"key"`)
	named = strings.Replace(named, "}\n", "}\n"+`{"bucket":["a","b"],"sequence":0}`+"\n", 1)
	for _, text := range []string{root, named} {
		db := filepath.Join(t.TempDir(), "db")
		output(t, "put", db, "other", "value")
		r := execute(t, text, "bulk-load", "-bucket", "a/b", db)
		if r.code != exitOK || !strings.HasPrefix(r.out, "3,000 entries, ") {
			t.Fatalf("exit code %d, it prints %s%s", r.code, r.out, r.err)
		}
		want := filepath.Join(t.TempDir(), "db")
		output(t, "put", want, "other", "value")
		if r := execute(t, named, "load", want); r.code != exitOK {
			t.Fatal(r.err)
		}
		equal(t, output(t, "dump", db), output(t, "dump", want))
		fails(t, execute(t, named, "bulk-load", "-bucket", "c", db), exitError,
			"this belongs to the bucket a/b", "nothing was loaded")
		equal(t, output(t, "dump", db), output(t, "dump", want))
	}
}
