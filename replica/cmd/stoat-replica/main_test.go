package main

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// result is what a command line has printed and returned.
type result struct {
	code     int
	out, err string
}

// execute runs a command line with the given standard input.
func execute(t testing.TB, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return result{code, out.String(), err.String()}
}

// output runs a command line that must succeed, without a word on stderr, and returns its output.
func output(t testing.TB, args ...string) string {
	t.Helper()
	r := execute(t, "", args...)
	if r.code != exitOK || r.err != "" {
		t.Fatalf("stoat replica %q: exit code %d, stderr: %s", args, r.code, r.err)
	}
	return r.out
}

// fails runs a command line that must fail with the code and with each of the words on stderr, in
// one message.
func fails(t testing.TB, code int, args []string, words ...string) {
	t.Helper()
	r := execute(t, "", args...)
	if r.code != code {
		t.Errorf("stoat replica %q: exit code %d, want %d; stderr: %s", args, r.code, code, r.err)
	}
	if !strings.HasPrefix(r.err, "stoat-replica: ") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("stoat replica %q: stderr %q, want one message", args, r.err)
	}
	for _, word := range words {
		if !strings.Contains(r.err, word) {
			t.Errorf("stoat replica %q: stderr %q, want %q in it", args, r.err, word)
		}
	}
}

// item is a record of the tests.
type item struct {
	Name   string   `stoat:"name,key"`
	Note   string   `stoat:"note,merge=keep"`
	Amount int64    `stoat:"amount,merge=sum"`
	Tags   []string `stoat:"tags,merge=set"`
}

// store is a database with a space, and its device.
type store struct {
	t       testing.TB
	db, key string
	device  string
}

// newStore creates a space, or joins the one of another store.
func newStore(t testing.TB, of *store) *store {
	t.Helper()
	dir := t.TempDir()
	s := &store{t: t, db: filepath.Join(dir, "db"), key: filepath.Join(dir, "key")}
	s.device = strings.TrimSpace(output(t, "device", s.key))
	if of == nil {
		output(t, "create", "-device", s.key, s.db, "team")
	} else {
		output(t, "join", "-device", s.key, s.db, "group", of.id())
		output(t, "grant", "-device", of.key, of.db, s.device, "write")
	}
	return s
}

// id returns the id of the space.
func (s *store) id() string {
	_, rest, _ := strings.Cut(output(s.t, "status", s.db), "space      ")
	id, _, _ := strings.Cut(rest, "\n")
	return id
}

// use runs fn with the space, as a program does that knows its types.
func (s *store) use(fn func(db *stoat.DB, space *replica.Space) error) {
	s.t.Helper()
	err := (&target{device: s.key}).update(s.db, func(space *replica.Space, db *stoat.DB) error {
		return fn(db, space)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// put stores an item.
func (s *store) put(v item) {
	s.t.Helper()
	s.use(func(db *stoat.DB, space *replica.Space) error {
		items, err := replica.Collection[item](space, "items", nil)
		if err != nil {
			return err
		}
		return db.Update(func(tx *stoat.Tx) error { return items.Put(tx, &v) })
	})
}

// root returns the root of the state.
func (s *store) root() (root [32]byte) {
	s.t.Helper()
	s.use(func(db *stoat.DB, space *replica.Space) error {
		return db.View(func(tx *stoat.Tx) (err error) {
			root, err = space.Root(tx)
			return err
		})
	})
	return root
}

// carry brings what a store has to another one, in a file.
func carry(t testing.TB, from, to *store) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stick.space")
	output(t, "export", "-device", from.key, from.db, file)
	output(t, "import", "-device", to.key, to.db, file)
}

// diverge returns two stores of one space with a conflict between them.
func diverge(t testing.TB) (a, b *store) {
	t.Helper()
	a = newStore(t, nil)
	b = newStore(t, a)
	carry(t, a, b)
	a.put(item{Name: "milk", Note: "two bottles", Amount: 2, Tags: []string{"cold"}})
	b.put(item{Name: "milk", Note: "oat", Amount: 1})
	carry(t, a, b)
	carry(t, b, a)
	return a, b
}

// serveLoopback serves a store until the test ends, and returns the address.
func (s *store) serveLoopback() (addr string) {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	addr = l.Addr().String()
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan struct{})
	ended := make(chan int, 1)
	go func() {
		var out bytes.Buffer
		w := &firstWrite{&out, started}
		ended <- run(ctx, []string{"serve", "-device", s.key, "-listen", addr, s.db}, nil, w, w)
	}()
	<-started
	s.t.Cleanup(func() {
		cancel()
		if code := <-ended; code != exitOK {
			s.t.Errorf("serve ends with the exit code %d", code)
		}
	})
	return addr
}

// firstWrite closes a channel at the first write.
type firstWrite struct {
	out   *bytes.Buffer
	first chan struct{}
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.out.Len() == 0 {
		defer close(w.first)
	}
	return w.out.Write(p)
}
