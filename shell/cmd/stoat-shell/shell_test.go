package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testCatalog is a few commands as the program tells them.
func testCatalog() catalog {
	in := commandFlag{Name: "bucket"}
	return catalog{
		{Name: "get", Arguments: "DB KEY", Flags: []commandFlag{in, {Name: "hex", Switch: true}}},
		{Name: "scan", Arguments: "DB", Flags: []commandFlag{
			in, {Name: "prefix"}, {Name: "reverse", Switch: true}}},
		{Name: "stats", Arguments: "DB", Flags: []commandFlag{{Name: "buckets", Switch: true}}},
		{Name: "dump-file", Arguments: "FILE"},
	}
}

// recorder is a program that keeps what it was called with.
type recorder struct {
	calls [][]string
	code  int
	err   error
}

func (r *recorder) run(args []string) (int, error) {
	r.calls = append(r.calls, args)
	return r.code, r.err
}

// newShell returns a shell on a database with a few keys and buckets, and what it runs and says.
func newShell(t testing.TB) (*shell, *recorder, *bytes.Buffer) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my.db")
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for _, key := range []string{"ant", "beetle", "bee keeper", "\xff\x01", "\xff\x02"} {
			ok(t, tx.Put([]byte(key), nil))
		}
		animals, err := tx.CreateBucket([]byte("animals"))
		ok(t, err)
		ok(t, animals.Put([]byte("stoat"), nil))
		_, err = animals.CreateBucket([]byte("small ones"))
		ok(t, err)
		_, err = animals.CreateBucket([]byte("a/b"))
		return err
	}))
	ok(t, db.Close())
	r := new(recorder)
	said := new(bytes.Buffer)
	return &shell{db: dir, catalog: testCatalog(), out: said, err: said, execute: r.run}, r, said
}

// runs runs a line that must succeed, and returns the command line of the program without its
// database.
func runs(t testing.TB, s *shell, r *recorder, line string) []string {
	t.Helper()
	r.calls = nil
	if code, end := s.do(line); code != exitOK || end {
		t.Fatalf("%s: exit code %d, end %v", line, code, end)
	}
	if len(r.calls) != 1 {
		t.Fatalf("%s: %d calls of the program", line, len(r.calls))
	}
	return slices.DeleteFunc(r.calls[0], func(arg string) bool { return arg == s.db })
}

func TestShell_addsTheDatabaseAndTheBucket(t *testing.T) {
	s, r, _ := newShell(t)
	check := func(line string, want ...string) {
		t.Helper()
		if got := runs(t, s, r, line); !slices.Equal(got, want) {
			t.Errorf("%s ran %q, want %q", line, got, want)
		}
	}
	check("get ant", "get", "ant")
	check(`get "bee keeper" -hex`, "get", "bee keeper", "-hex")
	check("dump-file x", "dump-file", "x")
	if code, _ := s.do("cd animals"); code != exitOK {
		t.Fatal("cd failed")
	}
	check("get stoat", "get", "-bucket=animals", "stoat")
	check("scan -bucket other", "scan", "-bucket", "other")
	check("scan --bucket=", "scan", "--bucket=")
	check("stats", "stats")
}

func TestShell_walksBuckets(t *testing.T) {
	s, _, said := newShell(t)
	for _, c := range []struct{ line, want string }{
		{"cd animals", "my.db:animals> "},
		{`cd 'small ones'`, "my.db:animals/small ones> "},
		{`cd ..`, "my.db:animals> "},
		{`cd 'a\/b'`, `my.db:animals/a\/b> `},
		{`cd '../small ones/'`, "my.db:animals/small ones> "},
		{"cd", "my.db> "},
		{"cd ..", "my.db> "},
		{"cd '/animals/small ones'", "my.db:animals/small ones> "},
		{"cd /", "my.db> "},
	} {
		if code, _ := s.do(c.line); code != exitOK || s.prompt() != c.want {
			t.Errorf("%s: exit code %d, prompt %q, want %q; %s", c.line, code, s.prompt(), c.want, said)
		}
	}
	if code, _ := s.do("cd nowhere"); code != exitError || !strings.Contains(said.String(), "bucket") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestShell_aScriptStopsAtTheFirstLineThatFails(t *testing.T) {
	s, r, said := newShell(t)
	if code := s.script(strings.NewReader("get ant\n\n# nothing\nget bee\n")); code != exitOK {
		t.Fatal(code, said)
	}
	if len(r.calls) != 2 {
		t.Errorf("%d calls of the program", len(r.calls))
	}
	r.code = 3
	if code := s.script(strings.NewReader("get none\nget ant\n")); code != 3 ||
		len(r.calls) != 3 || !strings.Contains(said.String(), "stopped at line 1") {
		t.Errorf("exit code %d after %d calls: %s", code, len(r.calls), said)
	}
	if code := s.script(strings.NewReader("exit\nget none\n")); code != exitOK || len(r.calls) != 3 {
		t.Errorf("exit code %d after %d calls", code, len(r.calls))
	}
	r.code, r.err = exitError, errors.New("gone")
	if code := s.script(strings.NewReader("get ant")); code != exitError ||
		!strings.Contains(said.String(), "gone") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code := s.script(strings.NewReader("frobnicate")); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

func TestShell_helpListsEveryCommand(t *testing.T) {
	s, r, said := newShell(t)
	s.do("help")
	for _, name := range s.commandNames() {
		if !strings.Contains(said.String(), "  "+name+" ") {
			t.Errorf("no %s in %s", name, said)
		}
	}
	if got := runs(t, s, r, "help get"); !slices.Equal(got, []string{"help", "get"}) {
		t.Errorf("ran %q", got)
	}
}

func TestProgram_refusesAWordWithAZeroByte(t *testing.T) {
	code, err := (&program{name: "none"}).run([]string{"get", "a\x00"})
	if code != exitUsage || !errors.Is(err, errZeroByte) {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// TestShell_passesTheKeyOn opens an encrypted database, itself and by the program.
func TestShell_passesTheKeyOn(t *testing.T) {
	dir := t.TempDir()
	key := bytes.Repeat([]byte{1}, 32)
	db, err := stoat.Open(filepath.Join(dir, "db"), &stoat.Options{Key: key})
	ok(t, err)
	ok(t, db.Update(func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("animals"))
		return err
	}))
	ok(t, db.Close())
	file := filepath.Join(dir, "key")
	ok(t, os.WriteFile(file, key, 0o600))
	s, r, said := newShell(t)
	s.db, s.keyFile = filepath.Join(dir, "db"), file
	s.catalog[0].Flags = append(s.catalog[0].Flags, commandFlag{Name: "key-file"})
	if code, _ := s.do("cd animals"); code != exitOK {
		t.Errorf("cd returns %d: %s", code, said)
	}
	if code, _ := s.do("get ant"); code != exitOK {
		t.Errorf("get returns %d: %s", code, said)
	}
	want := []string{"get", "-bucket=animals", "-key-file=" + file, s.db, "ant"}
	if len(r.calls) != 1 || !slices.Equal(r.calls[0], want) {
		t.Errorf("the program ran with %q, want %q", r.calls, want)
	}
	keyFlag := []commandFlag{{Name: "key-file"}}
	s.catalog = append(s.catalog,
		&command{Name: "restore", Arguments: "DIR|FILE|- NEWDB", Flags: keyFlag},
		&command{Name: "salvage", Arguments: "SRC DST", Flags: keyFlag})
	for _, line := range []string{"restore backup new", "salvage damaged new"} {
		if got, want := runs(t, s, r, line), strings.Fields(line); !slices.Equal(got, want) {
			t.Errorf("of another database, the program ran with %q, want %q", got, want)
		}
	}
	s.keyFile, s.bucket = "", nil
	if code, _ := s.do("cd animals"); code == exitOK {
		t.Error("cd works without the key")
	}
}
