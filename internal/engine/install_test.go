package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// diary notes the operations that make an edit durable, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

// copyNumber is the name of the copy of a manifest. Immutable.
var copyNumber = regexp.MustCompile(`MANIFEST-\d+\.copy`)

// note is a hook. It writes "sync .table" and the like.
func (d *diary) note(op faultfs.Op) error {
	what := op.Kind.String()
	base := copyNumber.ReplaceAllString(filepath.Base(op.Name), "copy")
	switch op.Kind {
	case faultfs.SyncDir:
	case faultfs.Sync, faultfs.Remove:
		what += " " + strings.Trim(base, "0123456789-")
	default:
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, what)
	return nil
}

// take returns what was noted, and forgets it.
func (d *diary) take(e *Engine) string {
	waitFor(e, func() bool { return !e.mu.flushing })
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := strings.Join(d.lines, "; ")
	d.lines = nil
	return lines
}

// TestInstall_syncsBeforeItBuildsOnIt looks at the order of operations: tables and their names,
// then the manifest and, if it is new, its name, and only then is anything removed.
func TestInstall_syncsBeforeItBuildsOnIt(t *testing.T) {
	disk := memfs.New()
	var d diary
	files := faultfs.New(disk, d.note)
	e := mustOpen(t, files, calm())
	check := func(when, want string) {
		t.Helper()
		if got := d.take(e); got != want {
			t.Errorf("%s: %s\nwant %s", when, got, want)
		}
	}
	check("creation", "")
	mustCommit(t, e, "a", "c")
	check("two commits", "sync MANIFEST; sync directory; sync .log; sync .log")
	mustCommit(t, e, "b")
	check("a third commit", "sync .log")
	ok(t, e.Flush())
	appended := "sync .table; sync directory; sync MANIFEST; remove .log"
	check("a flush", appended)
	mustCommit(t, e, "b")
	ok(t, e.Flush()) // so that the edits are more than the version before them
	e.options.Tuning.JournalBytes = 1
	mustCommit(t, e, "b")
	d.take(e)
	ok(t, e.Flush())
	check("a flush into a new manifest", "sync .table; sync directory; sync MANIFEST; "+
		"sync copy; sync directory; remove MANIFEST; remove copy; remove .log")
	ok(t, e.Close())
	check("closing", "sync .table; sync directory; sync MANIFEST; sync copy; "+
		"sync directory; remove MANIFEST; remove copy; remove .table; remove .table; remove .table")
}

func TestInstall_startsANewManifestWhenTheOldOneIsLong(t *testing.T) {
	disk := memfs.NewCrashable()
	o := calm()
	o.Tuning.JournalBytes = 200
	e := mustOpen(t, disk, o)
	mustCommit(t, e, "a")
	first := named(t, disk, "MANIFEST-")
	var words []string
	for i := range 20 {
		words = append(words, string(rune('a'+i)))
		mustCommit(t, e, words[i])
		ok(t, e.Flush())
		waitFor(e, func() bool { return true })
		if manifests := named(t, disk, "MANIFEST-"); len(manifests) != 2 {
			t.Errorf("manifests %v, want one and its copy", manifests)
		}
	}
	if slices.Equal(first, named(t, disk, "MANIFEST-")) {
		t.Error("there was never a new manifest")
	}
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), words...)
}

// A large version is rewritten only after as much was written in edits.
func TestInstall_writesALargeVersionSeldom(t *testing.T) {
	disk := memfs.NewCrashable()
	o := calm()
	o.Tuning.JournalBytes = 200
	e := mustOpen(t, disk, o)
	var words []string
	manifests := map[string]bool{}
	for i := range 60 {
		words = append(words, fmt.Sprintf("%02d", i))
		mustCommit(t, e, words[i])
		ok(t, e.Flush())
		waitFor(e, func() bool { return true })
		manifests[named(t, disk, "MANIFEST-")[0]] = true
		if start := e.installing.journal.StartSize(); e.installing.journal.Size() > 2*start+1000 {
			t.Errorf("%d bytes in the manifest, which starts with %d", e.installing.journal.Size(), start)
		}
	}
	if n := len(manifests); n < 3 || n > 9 {
		t.Errorf("%d manifests were written in %d edits", n, len(words))
	}
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), words...)
}

func TestInstall_thatFindsNoSpaceIsTriedAgain(t *testing.T) {
	disk := memfs.NewCrashable()
	match := is(faultfs.Preallocate, "MANIFEST-")
	files, broken := failing(disk, vfs.ErrNoSpace, match)
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a")
	broken.Store(true)
	wantNoSpace(t, e.Flush())
	if tables := named(t, disk, tableSuffix); len(tables) > 0 {
		t.Errorf("%v are left of a flush that failed", tables)
	}
	mustCommit(t, e, "b")
	broken.Store(false)
	waitFor(e, func() bool { return len(e.mu.sealed) == 0 })
	if s := e.Stats(); s.Tables != 1 || s.Failures == 0 || s.NoSpace != s.Failures {
		t.Errorf("the flush was not tried again, or its failures do not count: %+v", s)
	}
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b")
}

func TestInstall_thatFailsHalfwayPoisons(t *testing.T) {
	for name, match := range map[string]func(faultfs.Op) bool{
		"write": is(faultfs.WriteAt, "MANIFEST-"),
		"sync":  is(faultfs.Sync, "MANIFEST-"),
	} {
		t.Run(name, func(t *testing.T) {
			disk := memfs.NewCrashable()
			files, broken := failing(disk, errBroken, match)
			e := mustOpen(t, files, calm())
			mustCommit(t, e, "a")
			broken.Store(true)
			if err := e.Flush(); !errors.Is(err, ErrPoisoned) || !errors.Is(err, errBroken) {
				t.Errorf("Flush gives %v", err)
			}
			broken.Store(false)
			if err := tryCommit(e, dataKey("b"), nil); !errors.Is(err, ErrPoisoned) {
				t.Errorf("a commit gives %v", err)
			}
			wantWords(t, e, "a")
			for _, dead := range []*memfs.FS{disk.CrashKeepAll(), disk.CrashKeepNone()} {
				wantWords(t, mustOpen(t, dead, calm()), "a")
			}
		})
	}
}

func TestInstall_removesNothingThatItCannotRecord(t *testing.T) {
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Sync, "MANIFEST-"))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a")
	before := image(t, disk)
	broken.Store(true)
	if e.Flush() == nil {
		t.Fatal("the flush did not fail")
	}
	after := image(t, disk)
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("%s was removed", name)
		}
	}
}

// TestInstall_keepsTheLogsThatFollow flushes two of several memtables whose logs have consecutive
// numbers.
func TestInstall_keepsTheLogsThatFollow(t *testing.T) {
	disk := memfs.NewCrashable()
	var creations atomic.Int64
	hold := make(chan struct{})
	files := faultfs.New(disk, func(op faultfs.Op) error {
		if is(faultfs.Create, tableSuffix)(op) {
			<-hold
			if creations.Add(1) > 2 {
				return errBroken
			}
		}
		return nil
	})
	e := mustOpen(t, files, tiny())
	mustCommit(t, e, "a", "b", "c", "d")
	close(hold)
	waitFor(e, func() bool { return len(e.mu.sealed) == 1 })
	if logs := named(t, disk, ".log"); len(logs) != 2 {
		t.Errorf("logs %v, want two", logs)
	}
	for _, dead := range []*memfs.FS{disk.CrashKeepAll(), disk.CrashKeepNone()} {
		wantWords(t, mustOpen(t, dead, calm()), "a", "b", "c", "d")
	}
}

func TestRemoveFile_thatFailsIsMadeUpFor(t *testing.T) {
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Remove, ""))
	e := mustOpen(t, files, calm())
	broken.Store(true)
	for _, word := range []string{"b", "a"} {
		mustCommit(t, e, "a", "c", word)
		ok(t, e.Flush())
	}
	if logs := named(t, disk, ".log"); len(logs) != 2 {
		t.Errorf("logs %v, want two, so that something is tested", logs)
	}
	again := disk.CrashKeepAll()
	mustOpen(t, again, calm())
	if logs := named(t, again, ".log"); len(logs) > 0 {
		t.Errorf("%v are left", logs)
	}
	broken.Store(false)
	ok(t, e.Close())
	if left := named(t, disk, ""); len(left) != 4 {
		t.Errorf("%v are left, want a lock, a manifest, its copy and a table", left)
	}
}
