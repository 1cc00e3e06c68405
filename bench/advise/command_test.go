package advise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// people returns lines of records.
func people(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "{\"name\":\"p%d\",\"age\":%d,\"x\":%d.5}\n\n", i, 20+i, i)
	}
	return text.String()
}

// left returns what is in the folder of a file.
func left(t testing.TB, path string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	ok(t, err)
	return names
}

func TestCommand_advisesOnJSONLines(t *testing.T) {
	path := file(t, people(30))
	var out, progress bytes.Buffer
	args := []string{path, "-engine", "stoat,bbolt,goleveldb", "-rounds", "1", "-sync", "never",
		"-n", "20"}
	ok(t, Command(t.Context(), args, &out, &progress))
	expect(t, out.String(),
		"20 records of 31 bytes on average (from data), 3 fields",
		"The file has more: these are the first 20; -n", "not synced, 1 round",
		"How to lay out the records, on stoat", "on bbolt", "multikv", "nested",
		"adds up `x`. update: sets `age`", "\ngoleveldb ", "\n- Store each record as",
		"\n- Engine: ", "These are 20 pairs only", "not:failed", "not: - ",
	)
	if names := left(t, path); len(names) != 1 {
		t.Errorf("left beside the file: %q", names)
	}
}

func TestCommand_advisesOnADatabase(t *testing.T) {
	path := boltFile(t, nestedBuckets)
	before, err := os.ReadFile(path)
	ok(t, err)
	var out bytes.Buffer
	args := []string{"-bolt", path, "-engine", "stoat,bbolt", "-rounds", "1", "-sync", "never",
		"-json", "-storage", filepath.Join(t.TempDir(), "new")}
	ok(t, Command(t.Context(), args, &out, io.Discard))
	var a struct {
		Subject struct{ Pairs, Buckets, Records int }
		Layouts []struct {
			Engine     string
			Candidates []struct {
				Figures map[string]struct{ Median float64 }
			}
		}
		Engines struct{ Candidates []struct{ Name string } }
		Advice  []string
	}
	ok(t, json.Unmarshal(out.Bytes(), &a))
	if s := a.Subject; s.Pairs != 5 || s.Buckets != 3 || s.Records != 2 {
		t.Errorf("subject %+v", s)
	}
	if len(a.Layouts) != 2 || len(a.Layouts[0].Candidates) != 6 || len(a.Engines.Candidates) != 2 {
		t.Fatalf("tables of %s", out.String())
	}
	for _, c := range a.Layouts[1].Candidates {
		if len(c.Figures) != len(layoutColumns(true)) || c.Figures[rowRead].Median <= 0 {
			t.Errorf("figures %v", c.Figures)
		}
	}
	if len(a.Advice) == 0 {
		t.Error("no advice")
	}
	after, err := os.ReadFile(path)
	ok(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the database has changed")
	}
}

func TestCommand_comparesOnlyEnginesWithoutObjects(t *testing.T) {
	path := boltFile(t, func(tx *bbolt.Tx) error { return put(tx, "b", "k", "v") })
	var out bytes.Buffer
	args := []string{"-bolt", path, "-engine", "stoat", "-rounds", "1", "-sync", "never"}
	ok(t, Command(t.Context(), args, &out, io.Discard))
	expect(t, out.String(), "1 pair in 1 bucket", "No layouts are compared",
		"only `stoat` was measured",
		"not:How to lay")
}

func TestCommand_saysWhatIsWrong(t *testing.T) {
	good, folder := file(t, people(2)), t.TempDir()
	empty := boltFile(t, func(*bbolt.Tx) error { return nil })
	for _, c := range []struct {
		want string
		args []string
	}{
		{"usage: bench advise", nil},
		{"usage: bench advise", []string{good, good}},
		{"usage: bench advise", []string{good, "-bolt", good}},
		{"no such file", []string{good + "2"}},
		{"no such file", []string{"-bolt", good + "2"}},
		{"is a directory", []string{folder}},
		{"is a directory", []string{"-bolt", folder}},
		{"is empty", []string{file(t, "")}},
		{"is empty", []string{"-bolt", file(t, "")}},
		{"has nothing to measure", []string{file(t, "\n \n")}},
		{"has nothing to measure", []string{"-bolt", empty}},
		{": line 3: ", []string{file(t, "{\"a\":1}\n\n{\"a\":\n")}},
		{": line 2: the value is not an object; it must have one JSON object per line",
			[]string{file(t, "{\"a\":1}\n[1]\n")}},
		{"is not a bbolt database", []string{"-bolt", good}},
		{"-rounds 0 must be at least 1", []string{good, "-rounds", "0"}},
		{"-n -1 is negative", []string{good, "-n", "-1"}},
		{`-sync "both" must be always or never`, []string{good, "-sync", "both"}},
		{`no engine "oracle"; there are stoat, stoat-none, `, []string{good, "-engine", "oracle"}},
		{"not a directory", []string{good, "-storage", good + "/x"}},
	} {
		var out bytes.Buffer
		err := Command(t.Context(), c.args, &out, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(),
			"\n") {
			t.Errorf("%q: error %v, which does not say %q", c.args, err, c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%q prints %s", c.args, out.String())
		}
	}
	if names := append(left(t, good), left(t, filepath.Join(folder, "x"))...); len(names) != 1 {
		t.Errorf("left: %q", names)
	}
}

func TestCommand_saysThatADatabaseIsOpen(t *testing.T) {
	path := boltFile(t, nestedBuckets)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Minute})
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	err = Command(t.Context(), []string{"-bolt", path}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "another program has "+path+" open") {
		t.Errorf("error %v", err)
	}
}

func TestCommand_printsWhatThereIsWhenInterrupted(t *testing.T) {
	path := file(t, people(10))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	args := []string{path, "-engine", "stoat", "-sync", "never", "-rounds", "1"}
	err := Command(ctx, args, &out, onText{"binary+names", cancel})
	if err == nil || err.Error() != "interrupted" {
		t.Errorf("error %v", err)
	}
	expect(t, out.String(), "How to lay out the records", "because the run was interrupted",
		"not:Advice")
}

func TestCommand_goesOnAfterAFailure(t *testing.T) {
	path := file(t, people(10))
	var out bytes.Buffer
	args := []string{path, "-engine", "stoat,bbolt", "-sync", "never", "-rounds", "1"}
	vanish := onText{"values", func() { os.Remove(path) }}
	err := Command(t.Context(), args, &out, vanish)
	if err == nil || !strings.Contains(err.Error(), "2 turns failed") {
		t.Errorf("error %v", err)
	}
	expect(t, out.String(), "- Store each record as", "No engine could be measured",
		"failed: stoat, values")
}

func TestCommand_printsWhatThereIsAfterAnError(t *testing.T) {
	path, storage := file(t, people(10)), filepath.Join(t.TempDir(), "storage")
	var out bytes.Buffer
	args := []string{path, "-engine", "stoat,bbolt", "-sync", "never", "-rounds", "1",
		"-storage", storage}
	vanish := onText{"values", func() {
		ok(t, os.RemoveAll(storage))
		ok(t, os.WriteFile(storage, nil, 0o600)) // or a child would make it again
	}}
	err := Command(t.Context(), args, &out, vanish)
	if err == nil || !strings.Contains(err.Error(), "measure in "+storage) {
		t.Errorf("error %v", err)
	}
	expect(t, out.String(), "How to lay out the records", "because the run failed",
		"not:Advice")
}

func TestCommand_printsHelpToStandardOutput(t *testing.T) {
	var out, progress bytes.Buffer
	err := Command(t.Context(), []string{"-h"}, &out, &progress)
	if !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	expect(t, out.String(), "usage: bench advise", "-rounds")
	if progress.Len() > 0 {
		t.Errorf("complaints %s", progress.String())
	}
}

// onText is a writer that does something once it is given a text.
type onText struct {
	text string
	do   func()
}

func (o onText) Write(b []byte) (int, error) {
	if strings.Contains(string(b), o.text) {
		o.do()
	}
	return len(b), nil
}
