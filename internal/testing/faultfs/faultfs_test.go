package faultfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var errBroken = errors.New("broken on purpose")

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func create(t testing.TB, f vfs.FS, name string) vfs.File {
	t.Helper()
	file, err := f.Create(name)
	ok(t, err)
	return file
}

// content returns what a file of the file system below holds.
func content(t testing.TB, f vfs.FS, name string) string {
	t.Helper()
	file, err := f.Open(name)
	ok(t, err)
	defer file.Close()
	size, err := file.Size()
	ok(t, err)
	got := make([]byte, size)
	if size > 0 {
		_, err = file.ReadAt(got, 0)
		ok(t, err)
	}
	return string(got)
}

// script calls every operation once and returns the first error.
func script(f vfs.FS) error {
	var file vfs.File
	var lock vfs.Lock
	var folder vfs.Folder
	buf := make([]byte, 4)
	steps := []func() error{
		func() error { return f.MkdirAll("db") },
		func() (err error) { file, err = f.Create("db/file"); return err },
		func() (err error) { lock, err = f.Lock("db/file"); return err },
		func() error { return lock.Announce() },
		func() error { return file.Preallocate(100) },
		func() error { _, err := file.WriteAt([]byte("0123456789"), 2); return err },
		func() error { return file.Truncate(12) },
		func() error { return file.Sync() },
		func() error { return f.SyncDir("db") },
		func() (err error) { folder, err = f.OpenFolder("db"); return err },
		func() error { return folder.Link("db/file", folder, "db/link") },
		func() error { return folder.Named() },
		func() error { return folder.Close() },
		func() error { return errors.Join(lock.Named(), file.Named()) },
		func() error { return file.Close() },
		func() (err error) { file, err = f.Open("db/file"); return err },
		func() error { _, err := file.Size(); return err },
		func() error { _, err := file.ReadAt(buf, 3); return err },
		func() error { _, _, err := file.Map(12); return err },
		func() error { _, err := f.List("db"); return err },
		func() error { return f.Remove("db/file") },
		func() error { return lock.Close() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func TestNew_callsTheHookBeforeEachOperation(t *testing.T) {
	var seen []string
	f := New(memfs.New(), func(op Op) error {
		seen = append(seen, op.String())
		return nil
	})
	ok(t, script(f))
	want := []string{
		"0: mkdir db", "1: create db/file", "2: lock db/file", "3: announce db/file",
		"4: preallocate db/file, 100 bytes", "5: write db/file, 10 bytes at 2",
		"6: truncate db/file, 12 bytes", "7: sync db/file", "8: sync directory db",
		"9: open folder db", "10: link db/link", "11: close db/file", "12: open db/file",
		"13: size db/file", "14: read db/file, 4 bytes at 3", "15: map db/file, 12 bytes",
		"16: list db", "17: remove db/file", "18: close db/file",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("operations\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	if int(f.Count()) != len(want) {
		t.Errorf("counted %d operations, want %d", f.Count(), len(want))
	}
}

func TestFailAt_failsThatOperationOnly(t *testing.T) {
	dry := New(memfs.New(), func(Op) error { return nil })
	ok(t, script(dry))
	for n := range dry.Count() {
		f := New(memfs.New(), FailAt(n, errBroken))
		err := script(f)
		wantErr(t, err, errBroken)
		if f.Count() != n+1 {
			t.Errorf("operation %d is said to have failed, want %d", f.Count()-1, n)
		}
		var path *fs.PathError
		if !errors.As(err, &path) || !strings.HasPrefix(path.Path, "db") {
			t.Errorf("the error %q does not name the file", err)
		}
	}
}

func TestHook_thatFailsKeepsTheOperationFromBeingDone(t *testing.T) {
	inner := memfs.New()
	fail := false
	f := New(inner, func(Op) error {
		if fail {
			return errBroken
		}
		return nil
	})
	file := create(t, f, "file")
	_, err := file.WriteAt([]byte("old"), 0)
	ok(t, err)
	fail = true
	n, err := file.WriteAt([]byte("new"), 0)
	wantErr(t, err, errBroken)
	_, createErr := f.Create("another")
	if n != 0 || createErr == nil || file.Truncate(0) == nil || f.Remove("file") == nil {
		t.Error("something was done after all")
	}
	if got := content(t, inner, "file"); got != "old" {
		t.Errorf("content %q, want %q", got, "old")
	}
}

func TestClose_thatFailsClosesAllTheSame(t *testing.T) {
	inner := memfs.New()
	f := New(inner, func(op Op) error {
		if op.Kind == Close {
			return errBroken
		}
		return nil
	})
	file := create(t, f, "file")
	l, err := f.Lock("file")
	ok(t, err)
	wantErr(t, l.Close(), errBroken)
	l, err = inner.Lock("file")
	ok(t, err)
	ok(t, l.Close())
	wantErr(t, file.Close(), errBroken)
	wantErr(t, file.Sync(), fs.ErrClosed)
}

func TestShortWriteAt_writesHalf(t *testing.T) {
	inner := memfs.New()
	f := New(inner, ShortWriteAt(1, errBroken))
	file := create(t, f, "file")
	n, err := file.WriteAt([]byte("0123456789"), 0)
	wantErr(t, err, errBroken)
	if got := content(t, inner, "file"); n != 5 || got != "01234" {
		t.Errorf("%d bytes said to be written, the file holds %q", n, got)
	}
	wantErr(t, script(New(memfs.New(), ShortWriteAt(7, errBroken))), errBroken)
}

func TestQuota_failsWritesUntilSpaceReturns(t *testing.T) {
	inner := memfs.New()
	q := NewQuota(12)
	f := New(inner, q.Hook)
	file := create(t, f, "file")
	write := func(p string, off int64) error {
		_, err := file.WriteAt([]byte(p), off)
		return err
	}
	ok(t, write("01234567", 0))
	n, err := file.WriteAt([]byte("89abcdef"), 8)
	wantErr(t, err, vfs.ErrNoSpace)
	if got := content(t, inner, "file"); n != 4 || got != "0123456789ab" {
		t.Errorf("%d bytes said to be written, the file holds %q", n, got)
	}
	ok(t, write("ABCDEF", 4)) // takes no space
	wantErr(t, write("x", 12), vfs.ErrNoSpace)
	wantErr(t, file.Preallocate(13), vfs.ErrNoSpace)
	q.Add(1)
	ok(t, file.Preallocate(13))
	ok(t, write("x", 12))
	another := create(t, f, "another")
	_, err = another.WriteAt([]byte("y"), 0)
	wantErr(t, err, vfs.ErrNoSpace)
	ok(t, file.Truncate(10))
	_, err = another.WriteAt([]byte("yyy"), 0)
	ok(t, err)
	ok(t, f.Remove("file"))
	_, err = another.WriteAt([]byte("0123456789"), 3)
	ok(t, err)
	q.Add(-100)
	n, err = another.WriteAt([]byte("012"), 12)
	wantErr(t, err, vfs.ErrNoSpace)
	if n != 1 {
		t.Errorf("%d bytes written, want the 1 that has its space", n)
	}
}

func TestFS_numbersConcurrentOperationsOnce(t *testing.T) {
	const workers, each = 8, 200
	disk := memfs.NewCrashable()
	var mu sync.Mutex
	seen := map[int64]bool{}
	f := New(disk, func(op Op) error {
		mu.Lock()
		defer mu.Unlock()
		seen[op.Index] = true
		if op.Kind.Mutates() && op.Index%50 == 0 { // as the test of crashes does
			disk.Crash(rand.New(rand.NewPCG(uint64(op.Index), 0)))
		}
		return nil
	})
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			file, err := f.Create(fmt.Sprint(w))
			if err != nil {
				t.Error(err)
				return
			}
			for i := range each - 1 {
				if _, err := file.WriteAt([]byte("x"), int64(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if len(seen) != workers*each || f.Count() != workers*each {
		t.Errorf("%d numbers for %d operations, counted %d", len(seen), workers*each, f.Count())
	}
}

func TestKind_hasAName(t *testing.T) {
	for k := Create; k <= Close; k++ {
		if name := k.String(); name == "" || strings.Contains(name, "Kind") {
			t.Errorf("kind %d is called %q", int(k), name)
		}
	}
	if got := Kind(99).String(); got != "Kind(99)" {
		t.Errorf("an unknown kind is called %q", got)
	}
}
