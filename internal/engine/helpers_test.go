package engine

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const tableSuffix = ".table"

var errBroken = errors.New("broken on purpose")

// calm is options with which nothing is compacted before the database is closed.
func calm() Options {
	return Options{Tuning: Tuning{IdleAfter: time.Hour, YoungRuns: 100, SpillBytes: 1 << 30}}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustCommit commits keys whose values are the same words, each in a transaction of its own.
func mustCommit(t testing.TB, e *Engine, words ...string) {
	t.Helper()
	for _, word := range words {
		ok(t, tryCommit(e, dataKey("%s", word), []byte(word)))
	}
}

// wantWords checks that the database holds exactly those of mustCommit's words.
func wantWords(t testing.TB, e *Engine, words ...string) {
	t.Helper()
	want := strings.Join(words, ",")
	if got := strings.Join(wordsOf(t, e), ","); got != want {
		t.Errorf("the database holds %q, want %q", got, want)
	}
}

// put writes a file in the database's folder in the place of any that there is.
func put(t testing.TB, files vfs.FS, name string, content []byte) {
	t.Helper()
	path := filepath.Join("db", name)
	_ = files.Remove(path) // it may be new
	f, err := files.Create(path)
	ok(t, err)
	_, err = f.WriteAt(content, 0)
	ok(t, err)
	ok(t, f.Sync())
	ok(t, f.Close())
}

// content returns what a file in the database's folder holds.
func content(t testing.TB, files vfs.FS, name string) []byte {
	t.Helper()
	f, err := files.Open(filepath.Join("db", name))
	ok(t, err)
	defer f.Close()
	size, err := f.Size()
	ok(t, err)
	p := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(p, 0)
		ok(t, err)
	}
	return p
}

// image returns what every file in the database's folder holds.
func image(t testing.TB, files vfs.FS) map[string][]byte {
	t.Helper()
	names, err := files.List("db")
	ok(t, err)
	all := map[string][]byte{}
	for _, name := range names {
		all[name] = content(t, files, name)
	}
	return all
}

// wantImage checks that no file was added, removed or changed.
func wantImage(t testing.TB, files vfs.FS, want map[string][]byte) {
	t.Helper()
	got := image(t, files)
	for name, p := range got {
		if before, ok := want[name]; !ok {
			t.Errorf("%s was added", name)
		} else if !bytes.Equal(p, before) {
			t.Errorf("%s was changed", name)
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s was removed", name)
		}
	}
}

// named returns the files in the database's folder with the given part in their names, sorted.
func named(t testing.TB, files vfs.FS, part string) []string {
	t.Helper()
	names, err := files.List("db")
	ok(t, err)
	var found []string
	for _, name := range names {
		if strings.Contains(name, part) {
			found = append(found, name)
		}
	}
	return found
}

// waitFor returns when the condition holds, which is looked at with e.mu held, and when no edit is
// being installed any more.
func waitFor(e *Engine, holds func() bool) {
	e.mu.Lock()
	for !holds() {
		e.mu.moved.Wait()
	}
	e.mu.Unlock()
	e.installing.Lock()
	defer e.installing.Unlock()
}

// wordsOf returns all values in the order of their keys.
func wordsOf(t testing.TB, e *Engine) []string {
	t.Helper()
	s, err := e.Snapshot(0)
	ok(t, err)
	defer e.Release(0)
	return wordsIn(t, s)
}

// wordsIn returns all values that a snapshot has, in the order of their keys.
func wordsIn(t testing.TB, s *superversion.Superversion) []string {
	t.Helper()
	var words []string
	var c superversion.Cursor
	c.Init(s, superversion.Scope{Lower: dataKey(""), Read: superversion.ReadValues})
	for ok := c.First(); ok; ok = c.Next() {
		value, err := c.Value()
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, string(value))
	}
	ok(t, c.Err())
	return words
}

// failing returns a file system on which operations that match fail while the switch is on.
func failing(
	disk vfs.FS, err error, match func(op faultfs.Op) bool,
) (files vfs.FS, broken *atomic.Bool) {
	broken = new(atomic.Bool)
	return faultfs.New(disk, func(op faultfs.Op) error {
		if broken.Load() && match(op) {
			return err
		}
		return nil
	}), broken
}

// is returns a match for operations of a kind on files with the given part in their names.
func is(kind faultfs.Kind, part string) func(op faultfs.Op) bool {
	return func(op faultfs.Op) bool {
		return op.Kind == kind && strings.Contains(filepath.Base(op.Name), part)
	}
}

// killed returns the disk of a process that was killed. The words "table a" and "table c" are in
// the bottom run, "table b" in a young one, "log c" in a sealed log, and "log d" and "log e" in the
// active one.
func killed(t testing.TB) *memfs.FS {
	t.Helper()
	disk := memfs.NewCrashable()
	files, full := failing(disk, errBroken, is(faultfs.Create, tableSuffix))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "table a", "table c")
	ok(t, e.Flush())
	mustCommit(t, e, "table b")
	ok(t, e.Flush())
	mustCommit(t, e, "log c")
	full.Store(true)
	if err := e.Flush(); !errors.Is(err, errBroken) {
		t.Fatalf("flush on a full disk gives %v", err)
	}
	mustCommit(t, e, "log d", "log e")
	return disk.CrashKeepAll()
}

// allWords is what killed leaves. It is immutable.
var allWords = []string{"log c", "log d", "log e", "table a", "table b", "table c"}

// closed returns the disk of a database that was closed, with the given words in one table.
func closed(t testing.TB, words ...string) *memfs.FS {
	t.Helper()
	disk := memfs.New()
	e := mustOpen(t, disk, calm())
	mustCommit(t, e, words...)
	ok(t, e.Close())
	return disk
}
