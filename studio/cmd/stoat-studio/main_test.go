package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
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

// newDatabase returns the folder of a database that is not open.
func newDatabase(t testing.TB, key []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	db, err := stoat.Open(dir, &stoat.Options{Key: key})
	ok(t, err)
	ok(t, errors.Join(db.Put([]byte("key"), []byte("value")), db.Close()))
	return dir
}

// program is a run of the program, in this process.
type program struct {
	t         testing.TB
	interrupt func()
	stdin     io.WriteCloser
	stdout    *bufio.Scanner
	stderr    *bytes.Buffer // once it has ended
	code      chan int
}

// start runs the program.
func start(t testing.TB, args ...string) *program {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	in, stdin, err := os.Pipe()
	ok(t, err)
	stdout, out, err := os.Pipe()
	ok(t, err)
	t.Cleanup(func() { _ = errors.Join(stdin.Close(), stdout.Close()) }) // in any case
	p := &program{t, interrupt, stdin, bufio.NewScanner(stdout), new(bytes.Buffer), make(chan int, 1)}
	go func() {
		code := run(ctx, args, in, out, p.stderr)
		_ = out.Close() // which only ends what the test reads
		p.code <- code
	}()
	return p
}

// address returns the next address that the program prints, and the token in it.
func (p *program) address() (base, token string) {
	p.t.Helper()
	for p.stdout.Scan() {
		base, token, found := strings.Cut(strings.TrimSpace(p.stdout.Text()), "#token=")
		if found {
			return base, token
		}
	}
	p.t.Fatalf("the program prints no address: %s", p.stderr)
	return "", ""
}

// end interrupts the program, which must end well.
func (p *program) end() {
	p.t.Helper()
	p.interrupt()
	for p.stdout.Scan() { // it must not wait for a reader
	}
	if code := <-p.code; code != exitOK || p.stderr.Len() > 0 {
		p.t.Errorf("exit code %d: %s", code, p.stderr)
	}
}

// enter returns a client with a session, as the page makes one.
func enter(t testing.TB, base, token string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	ok(t, err)
	client := &http.Client{Jar: jar}
	if status, text := post(t, client, base+"api/session", `{"token":"`+token+`"}`); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	return client
}

func post(t testing.TB, client *http.Client, url, body string) (status int, text string) {
	t.Helper()
	answer, err := client.Post(url, "application/json", strings.NewReader(body))
	ok(t, err)
	return read(t, answer)
}

func get(t testing.TB, client *http.Client, url string) (status int, text string) {
	t.Helper()
	answer, err := client.Get(url)
	ok(t, err)
	return read(t, answer)
}

func read(t testing.TB, answer *http.Response) (status int, text string) {
	t.Helper()
	p, err := io.ReadAll(answer.Body)
	ok(t, errors.Join(err, answer.Body.Close()))
	return answer.StatusCode, string(p)
}

func TestRun_showsADatabaseUntilAnInterrupt(t *testing.T) {
	dir := newDatabase(t, nil)
	db, err := stoat.Open(dir, nil) // another process may have it open
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	p := start(t, dir)
	base, token := p.address()
	if !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("the address is %s", base)
	}
	if status, text := get(t, http.DefaultClient, base); status != 200 ||
		!strings.Contains(text, "<html") {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := get(t, http.DefaultClient, base+"api/keys"); status != http.StatusUnauthorized {
		t.Errorf("without a token, the status is %d", status)
	}
	client := enter(t, base, token)
	if status, text := get(t, client, base+"api/keys"); status != 200 ||
		!strings.Contains(text, "value") {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := post(t, client, base+"api/put", `{"key":"a2V5"}`); status != http.StatusForbidden {
		t.Errorf("without -write, the status is %d", status)
	}

	_, err = io.WriteString(p.stdin, "\n")
	ok(t, err)
	again, other := p.address()
	if again != base || other == token {
		t.Errorf("%s with the token %s", again, other)
	}
	client = enter(t, base, other)
	stream, err := client.Get(base + "api/changes")
	ok(t, err)
	p.end() // although a page watches
	ok(t, stream.Body.Close())
}

// A page of another port of this machine gets the cookies of the studio if it knows the path.
func TestRun_servesNothingElsewhere(t *testing.T) {
	p := start(t, newDatabase(t, nil))
	base, _ := p.address()
	root, path, _ := strings.Cut(strings.TrimPrefix(base, "http://"), "/")
	if len(path) < 22 {
		t.Errorf("the path is %s", path)
	}
	other := strings.TrimSuffix(path, "/") + "x/"
	for _, path := range []string{"", "api/database", "x" + path, other} {
		if status, text := get(t, http.DefaultClient, "http://"+root+"/"+path); status != 404 {
			t.Errorf("%s has status %d: %s", path, status, text)
		}
	}
	p.end()
}

func TestRun_writesIfTold(t *testing.T) {
	dir := newDatabase(t, nil)
	p := start(t, dir, "-write", "-listen", "localhost:0")
	base, token := p.address()
	client := enter(t, base, token)
	status, text := post(t, client, base+"api/put", `{"key":"a2V5","value":"bmV3"}`)
	if status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	p.end()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	value, err := db.Get([]byte("key"))
	ok(t, errors.Join(err, db.Close()))
	if string(value) != "new" {
		t.Errorf("the value is %s", value)
	}
}

func TestRun_opensAnEncryptedDatabase(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	name := filepath.Join(t.TempDir(), "key")
	ok(t, os.WriteFile(name, key, 0o600))
	for _, flag := range []string{"-write", "-write=false"} {
		p := start(t, "-key-file", name, flag, newDatabase(t, key))
		base, token := p.address()
		if status, text := get(t, enter(t, base, token), base+"api/keys"); status != 200 ||
			!strings.Contains(text, "value") {
			t.Errorf("%d %s", status, text)
		}
		p.end()
	}
}

func TestRun_saysWhatIsWrong(t *testing.T) {
	other := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(other, "MANIFEST-000001"), []byte("no manifest at all"), 0o600))
	file := filepath.Join(t.TempDir(), "file")
	ok(t, os.WriteFile(file, []byte("no database"), 0o600))
	wrong := filepath.Join(t.TempDir(), "key")
	ok(t, os.WriteFile(wrong, bytes.Repeat([]byte{8}, 32), 0o600))
	empty, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	sealed := newDatabase(t, bytes.Repeat([]byte{7}, 32))
	locked := newDatabase(t, nil)
	db, err := stoat.Open(locked, nil)
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{nil, exitUsage, "one database"},
		{[]string{""}, exitUsage, "one database"},
		{[]string{"a", "b"}, exitUsage, "one database"},
		{[]string{"-quiet", "a"}, exitUsage, "-quiet"},
		{[]string{"-listen", ":80", "a"}, exitUsage, "127.0.0.1:80"},
		{[]string{"-listen", "0.0.0.0:80", "a"}, exitUsage, "ssh -L"},
		{[]string{"-listen", "example.com:80", "a"}, exitUsage, "loopback"},
		{[]string{"-listen", "127.0.0.1", "a"}, exitUsage, "port"},
		{[]string{"-listen", "127.0.0.1:99999", newDatabase(t, nil)}, exitError, "99999"},
		{[]string{missing}, exitError, "no database at " + missing},
		{[]string{"-write", missing}, exitError, "no database at " + missing},
		{[]string{empty, "-write"}, exitError, "no database at " + empty},
		{[]string{file}, exitError, file},
		{[]string{other}, exitError, other},
		{[]string{sealed}, exitError, "-key-file"},
		{[]string{"-key-file", wrong, sealed}, exitError, "-key-file"},
		{[]string{"-key-file", wrong, "-write", newDatabase(t, nil)}, exitError, "none if it is not"},
		{[]string{"-key-file", missing, sealed}, exitError, "read the key"},
		{[]string{"-key-file", file, sealed}, exitError, "is no key"},
		{[]string{"-write", locked}, exitError, "without -write"},
	} {
		p := start(t, c.args...)
		for p.stdout.Scan() {
			t.Errorf("%q prints %s", c.args, p.stdout.Text())
		}
		if code := <-p.code; code != c.code || !strings.Contains(p.stderr.String(), c.text) ||
			!strings.HasPrefix(p.stderr.String(), "stoat-studio: ") {
			t.Errorf("%q has exit code %d, want %d with %q: %s", c.args, code, c.code, c.text, p.stderr)
		}
		p.interrupt()
	}
	for _, dir := range []string{empty, missing} {
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%s has %v now", dir, entries)
		}
	}
}

func TestRun_helps(t *testing.T) {
	var out, complaint bytes.Buffer
	code := run(t.Context(), []string{"-help"}, nil, &out, &complaint)
	if code != exitOK || complaint.Len() > 0 || !strings.Contains(out.String(), "-key-file FILE") {
		t.Errorf("exit code %d: %s%s", code, &out, &complaint)
	}
}
