package studio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
)

// clock is a time that tests set. It is not safe for concurrent use.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func (c *clock) add(d time.Duration) { c.Time = c.Time.Add(d) }

// followed returns a follower of a database with a clock.
func followed(t testing.TB, dir string) (*follower, *clock) {
	t.Helper()
	c := &clock{time.Now()}
	f := newFollower(dir, nil, c.now)
	t.Cleanup(func() { ok(t, f.close()) })
	return f, c
}

// valueOf returns the value of a key as the follower's database has it.
func valueOf(t testing.TB, f *follower, key string) string {
	t.Helper()
	db, release, err := f.acquire(t.Context())
	ok(t, err)
	defer release()
	value, err := db.Get([]byte(key))
	ok(t, err)
	return string(value)
}

func TestFollower_seesWhatAnotherWrites(t *testing.T) {
	db, dir := onDisk(t)
	f, c := followed(t, filepath.Clean(dir))
	for i := range 20 {
		want := fmt.Sprint("v", i)
		ok(t, db.Put([]byte("key"), []byte(want)))
		if i%3 == 2 {
			ok(t, db.Flush())
		}
		c.add(followPause + followShare*f.took)
		equal(t, valueOf(t, f, "key"), want)
	}
}

// A write that changes neither the size of a file nor its time, as within the step of the file
// system's clock, is seen once the files are old enough to be sure of.
func TestFollower_seesAWriteThatChangesNoTime(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), []byte("old")))
	then := time.Now()
	freeze := func() {
		entries, err := os.ReadDir(dir)
		ok(t, err)
		for _, e := range entries {
			ok(t, os.Chtimes(filepath.Join(dir, e.Name()), then, then))
		}
	}
	freeze()
	f, c := followed(t, dir)
	c.Time = then
	equal(t, valueOf(t, f, "key"), "old")
	ok(t, db.Put([]byte("key"), []byte("new")))
	freeze()
	before, err := glanceAt(dir, then)
	ok(t, err)
	equal(t, before.young, true)
	c.add(clockStep + followShare*f.took)
	equal(t, valueOf(t, f, "key"), "new")
}

func TestFollower_opensAgainOnlyWhatHasChanged(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), []byte("value")))
	f, c := followed(t, dir)
	c.add(time.Hour)
	equal(t, valueOf(t, f, "key"), "value")
	first := f.state
	for range 3 {
		c.add(time.Hour)
		equal(t, valueOf(t, f, "key"), "value")
	}
	if f.state != first {
		t.Error("the database was opened again")
	}
	ok(t, db.Put([]byte("key"), []byte("changed")))
	equal(t, valueOf(t, f, "key"), "value") // too soon
	c.add(time.Hour)
	equal(t, valueOf(t, f, "key"), "changed")
}

func TestFollower_keepsAStateThatIsInUse(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), []byte("old")))
	f, c := followed(t, dir)
	used, release, err := f.acquire(t.Context())
	ok(t, err)
	ok(t, db.Put([]byte("key"), []byte("new")))
	c.add(time.Hour)
	equal(t, valueOf(t, f, "key"), "new")
	value, err := used.Get([]byte("key"))
	ok(t, err)
	equal(t, string(value), "old")
	release()
	if _, err := used.Get([]byte("key")); !errors.Is(err, stoat.ErrClosed) {
		t.Errorf("a state that nobody uses is open: %v", err)
	}
}

// slowly makes the openings of a follower wait until the test closes let; began has an element when
// one of them waits.
func slowly(f *follower) (began <-chan struct{}, let chan<- struct{}) {
	at, free := make(chan struct{}, 1), make(chan struct{})
	f.open = func(dir string, opts *stoat.Options) (*stoat.DB, error) {
		at <- struct{}{}
		<-free
		return stoat.Open(dir, opts)
	}
	return at, free
}

func TestFollower_delaysNobodyWhileItOpens(t *testing.T) {
	synctest.Test(t, delaysNobodyWhileItOpens) // in which time passes at once
}

func delaysNobodyWhileItOpens(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), []byte("old")))
	f, c := followed(t, dir)
	_, release, err := f.acquire(t.Context())
	ok(t, err)
	ok(t, db.Put([]byte("key"), []byte("new")))
	c.add(time.Hour)
	began, let := slowly(f)
	waited := make(chan string)
	go func() { waited <- valueOf(t, f, "key") }()
	<-began
	release()
	begun := time.Now()
	equal(t, valueOf(t, f, "key"), "old") // another request, at once
	equal(t, time.Since(begun), 0)
	equal(t, <-waited, "old") // the request that began it, after a moment
	equal(t, time.Since(begun), followWait)
	close(let)
	f.mu.Lock()
	if f.looking != nil {
		_ = f.wait(t.Context())
	}
	f.mu.Unlock()
	equal(t, valueOf(t, f, "key"), "new")
}

func TestFollower_waitsForAFirstStateWhileTheRequestLasts(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), nil))
	f, _ := followed(t, dir)
	began, let := slowly(f)
	first := make(chan error)
	go func() {
		_, release, err := f.acquire(t.Context())
		if err == nil {
			release()
		}
		first <- err
	}()
	<-began
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := f.acquire(over)
	equal(t, statusOf(err), http.StatusServiceUnavailable)
	close(let)
	ok(t, <-first)
}

func TestFollower_closesWhatIsBeingOpened(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), nil))
	f, _ := followed(t, dir)
	began, let := slowly(f)
	over, cancel := context.WithCancel(t.Context())
	waited := make(chan error)
	go func() {
		_, _, err := f.acquire(over)
		waited <- err
	}()
	<-began
	cancel()
	equal(t, statusOf(<-waited), http.StatusServiceUnavailable)
	close(let)
	ok(t, f.close())
	equal(t, f.looking == nil && f.state == nil, true)
	if _, _, err := f.acquire(t.Context()); !errors.Is(err, stoat.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

func TestFollower_saysThatTheDatabaseIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	ok(t, errors.Join(db.Put([]byte("key"), []byte("value")), db.Close()))
	f, c := followed(t, dir)
	equal(t, valueOf(t, f, "key"), "value")
	ok(t, os.Rename(dir, dir+"2"))
	c.add(time.Hour)
	for range 2 { // also before the next look
		if _, _, err := f.acquire(t.Context()); !errors.Is(err, os.ErrNotExist) ||
			strings.Contains(err.Error(), "Options") {
			t.Errorf("error %v", err)
		}
	}
	ok(t, os.Rename(dir+"2", dir)) // whose files are as they were
	c.add(time.Hour)
	equal(t, valueOf(t, f, "key"), "value")
	ok(t, f.close())
	if _, _, err := f.acquire(t.Context()); !errors.Is(err, stoat.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

func TestFollow_needsADatabase(t *testing.T) {
	if _, err := Follow(t.TempDir(), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// next returns the next event of a stream, and its data.
func next(t testing.TB, lines *bufio.Scanner) (name, data string) {
	t.Helper()
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		case line == "" && name != "":
			return name, data
		}
	}
	t.Fatalf("the stream ends: %v", lines.Err())
	return "", ""
}

func TestChanges_ofAFollowedDatabaseAreItsStates(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), []byte("old")))
	h, err := Follow(dir, nil, nil)
	ok(t, err)
	b := browse(t, h)
	answer := b.send(http.MethodGet, "api/changes", nil)
	lines := bufio.NewScanner(answer.Body)
	name, data := next(t, lines)
	if want := fmt.Sprintf(`{"commit":"%d"}`, db.Position()); name != "state" || data != want {
		t.Errorf("%s: %s, want %s", name, data, want)
	}
	ok(t, db.Put([]byte("key"), []byte("new")))
	name, data = next(t, lines)
	if want := fmt.Sprintf(`{"commit":"%d"}`, db.Position()); name != "state" || data != want {
		t.Errorf("%s: %s, want %s", name, data, want)
	}
	v := get[valueAnswer](b, "value", "key", id("key"))
	equal(t, string(v.Value.Base64), "new")
	ok(t, h.Close())
	name, _ = next(t, lines)
	equal(t, name, "end")
	ok(t, answer.Body.Close())
}
