package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/commands/intake"
)

// written returns the path of a new file with that text.
func written(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// stopping is an entryReader that fails, or runs the function, before the nth entry of a run.
type stopping struct {
	entryReader
	left int
	stop func() error
}

func (r *stopping) next() (sourceEntry, error) {
	if r.left == 0 {
		if err := r.stop(); err != nil {
			return sourceEntry{}, err
		}
	}
	r.left--
	return r.entryReader.next()
}

// importPart imports as the flags say in transactions of few entries, until after n of them stop
// is called.
func importPart(
	ctx context.Context, t testing.TB, o *importFlags, dir string, n int, stop func() error,
) error {
	t.Helper()
	s := newStdio(nil, io.Discard, io.Discard)
	r, err := o.open(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	db, err := open(s, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	job, err := intake.Start(db, r.source(), intake.Options{
		Bucket: *o.into, Feed: o.feedName(), Settings: o.settings(), RecordsMax: 3,
	})
	if err == nil {
		err = importFrom(ctx, s, job, &stopping{r, n, stop}, o.skipBad)
	}
	if closeErr := db.Close(); closeErr != nil {
		t.Fatal(closeErr)
	}
	return err
}

// errHere is what a test makes an import fail with.
var errHere = errors.New("it fails here")

// goesOn fails an import before, at and behind a commit, and wants the next run to end up with what
// the dump of a single run has.
func goesOn(t *testing.T, o *importFlags, args ...string) {
	t.Helper()
	want := filepath.Join(t.TempDir(), "want")
	whole := output(t, append([]string{"import", want}, args...)...)
	wanted := output(t, "dump", want)
	for _, stop := range []int{2, 3, 4, 7} {
		db := filepath.Join(t.TempDir(), "db")
		err := importPart(t.Context(), t, o, db, stop, func() error { return errHere })
		if !errors.Is(err, errHere) {
			t.Fatalf("stopped after %d: %v", stop, err)
		}
		if end := "goes on from there"; stop >= 3 && !strings.HasSuffix(err.Error(), end) {
			t.Errorf("stopped after %d: %v", stop, err)
		}
		marked := strings.Contains(output(t, "buckets", db), `\xffimport`)
		if marked != (stop >= 3) {
			t.Errorf("stopped after %d, there is a bookmark: %v", stop, marked)
		}
		again := output(t, append([]string{"import", db}, args...)...)
		if resumed := strings.Contains(again, "with what earlier runs"); resumed != (stop >= 3) {
			t.Errorf("stopped after %d, the next run prints %s", stop, again)
		}
		equal(t, output(t, "dump", db), wanted)
	}
	if !strings.Contains(whole, " in ") {
		t.Errorf("it prints %s", whole)
	}
}

func TestImport_goesOnAfterAnInterrupt(t *testing.T) {
	var lines strings.Builder
	for i := range 10 {
		fmt.Fprintf(&lines, "{\"n\":%d}\n", i)
	}
	o := &importFlags{jsonl: written(t, lines.String()), into: new(path)}
	db := filepath.Join(t.TempDir(), "db")
	for range 2 { // two entries each, fewer than a transaction has
		ctx, cancel := context.WithCancel(t.Context())
		err := importPart(ctx, t, o, db, 1, func() error { cancel(); return nil })
		if !errors.Is(err, errInterrupted) {
			t.Fatal(err)
		}
	}
	if n := strings.Count(output(t, "keys", "-hex", db), "\n"); n != 4 {
		t.Errorf("after two interrupts there are %d keys, want 4", n)
	}
	r := summary(t, "import", "-jsonl", o.jsonl, db)
	if r.Entries != 10 || !r.Resumed {
		t.Errorf("the summary says %+v", r)
	}
	if n := strings.Count(output(t, "keys", "-hex", db), "\n"); n != 10 {
		t.Errorf("there are %d keys at the end", n)
	}
}

// summary runs an import and returns its report.
func summary(t testing.TB, args ...string) (r intake.Report) {
	t.Helper()
	text := output(t, append(args, "-json")...)
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return r
}

func TestImport_refusesASourceThatHasChanged(t *testing.T) {
	file := written(t, "1\n2\n3\n4\n5\nx\n")
	db := filepath.Join(t.TempDir(), "db")
	o := &importFlags{jsonl: file, into: new(path)}
	err := importPart(t.Context(), t, o, db, 4, func() error { return errHere })
	if !errors.Is(err, errHere) {
		t.Fatal(err)
	}
	fails(t, execute(t, "", "import", "-jsonl", file, db), exitError, "line 6: not JSON", "-skip-bad",
		"3 entries imported so far")
	fails(t, execute(t, "", "import", "-jsonl", file, "-key", "a", db), exitError, "without -key",
		"-restart")
	if err := os.WriteFile(file, []byte("7\n8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	fails(t, execute(t, "", "import", "-jsonl", file, db), exitError, file+" has changed", "-restart")
	if r := summary(t, "import", "-jsonl", file, "-restart", db); r.Entries != 2 || r.Resumed {
		t.Errorf("the summary says %+v", r)
	}
	equal(t, output(t, "scan", "-hex", db),
		"0000000000000000\t37\n0000000000000001\t38\n")
	equal(t, output(t, "buckets", db), "")
}

func TestImport_refusesWrongArguments(t *testing.T) {
	file := written(t, "")
	db := filepath.Join(t.TempDir(), "db")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{db}, exitUsage, "nothing to import"},
		{[]string{"-jsonl", file}, exitUsage, "0 arguments"},
		{[]string{"-jsonl", file, "-csv", file, db}, exitUsage, "-jsonl and -csv exclude each other"},
		{[]string{"-bolt", file, "-csv", file, db}, exitUsage, "-csv and -bolt exclude each other"},
		{[]string{"-margaret", file, "-key", "a", db}, exitUsage, "-key is for"},
		{[]string{"-bolt", file, "-skip-bad", db}, exitUsage, "-skip-bad is for"},
		{[]string{"-jsonl", file + "x", db}, exitError, "source"},
		{[]string{"-jsonl", filepath.Dir(file), db}, exitError, "is a directory"},
		{[]string{"-margaret", filepath.Dir(file), db}, exitError, "data, ofst and jrnl"},
		{[]string{"-csv", file, db}, exitError, "the file is empty"},
	} {
		r := execute(t, "", append([]string{"import"}, c.args...)...)
		fails(t, r, c.code, c.want)
	}
	if _, err := os.Stat(db); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a database was created (%v)", err)
	}
}

func TestImport_saysHowToGetTheOtherProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	fails(t, execute(t, "", "import", "-bolt", "x.db", "to"), exitError, "stoat-import", "go install")
}

func TestImport_hasTheOtherProgramDoIt(t *testing.T) {
	installProgram(t, importProgram)
	r := execute(t, "", "import", "-bolt", "x.db", "to", "-bucket", "a b/c", "-json")
	if r.code != 4 || r.err != "stoat-import: no\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
	equal(t, r.out, "<-bolt=x.db>\n<-bucket=a b/c>\n<-json=true>\n<-->\n<to>\n")
}

func TestImport_leavesNothingBehindWhenItIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"-jsonl", written(t, "x\n")},
		{"-jsonl", written(t, "1\n2\nx\n"), "-feed", "f"},
		{"-jsonl", written(t, "1\nx\n"), "-bucket", "a/b"},
		{"-csv", written(t, "a,b\n1,2\n3\n"), "-feed", "f"},
	} {
		db := filepath.Join(t.TempDir(), "db")
		r := execute(t, "", append([]string{"import", db}, args...)...)
		fails(t, r, exitError, "this run has imported nothing")
		equal(t, output(t, "buckets", "-tree", db), db+"\n")
		if r := summary(t, "import", db, "-feed", "f", "-jsonl", written(t, "1\n")); r.Entries != 1 {
			t.Errorf("the summary says %+v", r)
		}
	}
	db := filepath.Join(t.TempDir(), "db")
	output(t, "import", db, "-feed", "f", "-jsonl", written(t, "1\n"))
	before := output(t, "dump", db)
	fails(t, execute(t, "", "import", db, "-feed", "f", "-jsonl", written(t, "x\n")), exitError,
		"this run has imported nothing")
	equal(t, output(t, "dump", db), before)
	output(t, "put", db, "-bucket", "g", "key", "value")
	fails(t, execute(t, "", "import", db, "-feed", "g", "-jsonl", written(t, "1\n")), exitError,
		"not a feed")
}
