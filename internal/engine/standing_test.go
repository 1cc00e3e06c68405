package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// What a killed process wrote and never synced is there for the next one, and gone after a power
// cut: nothing may be built on it before it is durable.

func TestOpen_makesTheManifestDurable(t *testing.T) {
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Sync, "MANIFEST"))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a")
	broken.Store(true)
	if err := e.Flush(); err == nil { // the edit is written, not synced
		t.Fatal("the flush did not fail")
	}
	_ = e.Close()
	killed := disk.Kill()
	mustCommit(t, mustOpen(t, killed, calm()), "b")
	wantWords(t, mustOpen(t, killed.CrashKeepNone(), calm()), "a", "b")
}

func TestEstablish_isDurableForTheNextProcess(t *testing.T) {
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Sync, "MANIFEST"))
	broken.Store(true)
	e := mustOpen(t, files, calm())
	if _, err := e.Begin(); !errors.Is(err, ErrPoisoned) {
		t.Fatalf("error %v, want ErrPoisoned", err)
	}
	_ = e.Close()
	next := disk.Kill()
	mustCommit(t, mustOpen(t, next, calm()), "a")
	wantWords(t, mustOpen(t, next.CrashKeepNone(), calm()), "a")
}

// A database that was closed is durable, unless it was copied there.
func TestOpen_ofAClosedDatabaseSyncsWhenItIsWritten(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, calm())
	mustCommit(t, e, "a")
	ok(t, e.Close())
	var d diary
	e = mustOpen(t, faultfs.New(disk, d.note), calm())
	if got := d.take(e); got != "" {
		t.Errorf("opening: %s, want nothing", got)
	}
	mustCommit(t, e, "b")
	want := "sync MANIFEST; sync directory; sync .log; sync directory"
	if got := d.take(e); got != want {
		t.Errorf("a commit: %s, want %s", got, want)
	}
	mustCommit(t, e, "c")
	if got := d.take(e); got != "sync .log" {
		t.Errorf("another commit: %s, want sync .log", got)
	}
}

func TestEstablish_writesNothingAfterClose(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, calm())
	e.appending.Lock()
	began := make(chan error)
	go func() {
		w, err := e.Begin()
		if err == nil {
			w.Rollback()
		}
		began <- err
	}()
	for !e.writer.isHeld() {
		runtime.Gosched()
	}
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	for !e.closed.Load() {
		runtime.Gosched()
	}
	e.appending.Unlock()
	ok(t, <-closed)
	before := image(t, disk)
	if err := <-began; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	wantImage(t, disk, before)
}

func TestClose_tellsThatANewDatabaseIsNotOnDisk(t *testing.T) {
	files, broken := failing(memfs.New(), errBroken, is(faultfs.Create, "MANIFEST"))
	e := mustOpen(t, files, calm())
	broken.Store(true)
	if err := e.Close(); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want errBroken", err)
	}
}

// cutOff returns a disk on which the first files of a database have got no further than to a log
// segment, which is durable.
func cutOff(t *testing.T) *memfs.FS {
	t.Helper()
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Create, "MANIFEST"))
	e := mustOpen(t, files, calm())
	broken.Store(true)
	if _, err := e.Begin(); !errors.Is(err, errBroken) {
		t.Fatalf("error %v, want errBroken", err)
	}
	return disk.CrashKeepAll()
}

func TestCreate_isNotHeldUpByALogThatComesBack(t *testing.T) {
	t.Run("cannot be removed", func(t *testing.T) {
		disk := cutOff(t)
		files, broken := failing(disk, errBroken, is(faultfs.Remove, ".log"))
		broken.Store(true)
		mustCommit(t, mustOpen(t, files, calm()), "a")
		wantWords(t, mustOpen(t, disk.Kill(), calm()), "a")
	})
	t.Run("the removal is not durable", func(t *testing.T) {
		disk := cutOff(t)
		files, broken := failing(disk, errBroken, func(op faultfs.Op) bool {
			return op.Kind == faultfs.SyncDir
		})
		broken.Store(true)
		if _, err := mustOpen(t, files, calm()).Begin(); !errors.Is(err, ErrPoisoned) {
			t.Fatalf("error %v, want ErrPoisoned", err)
		}
		for seed := range uint64(32) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				left := disk.Crash(rand.New(rand.NewPCG(seed, 0)))
				mustCommit(t, mustOpen(t, left, calm()), "a")
				wantWords(t, mustOpen(t, left.CrashKeepNone(), calm()), "a")
			})
		}
	})
}

// cutClose returns the disk of a process that was killed while it closed a new database, before the
// first manifest was durable.
func cutClose(t *testing.T) *memfs.FS {
	t.Helper()
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Sync, "MANIFEST"))
	broken.Store(true)
	if err := mustOpen(t, files, calm()).Close(); !errors.Is(err, errBroken) {
		t.Fatalf("error %v, want errBroken", err)
	}
	return disk.Kill()
}

func TestBegin_doesNotRetryASync(t *testing.T) {
	files, broken := failing(cutClose(t), errBroken, is(faultfs.Sync, "MANIFEST"))
	e := mustOpen(t, files, calm())
	broken.Store(true)
	for range 2 {
		w, err := e.Begin()
		if err == nil {
			w.Rollback()
		}
		if !errors.Is(err, ErrPoisoned) || !errors.Is(err, errBroken) {
			t.Errorf("error %v, want ErrPoisoned", err)
		}
		broken.Store(false)
	}
}

// Nothing that was written can be lost when a file cannot be opened.
func TestBegin_opensTheManifestAgain(t *testing.T) {
	files, broken := failing(closed(t, "a"), errBroken, is(faultfs.Open, "MANIFEST"))
	e := mustOpen(t, files, calm())
	broken.Store(true)
	w, err := e.Begin()
	if err == nil {
		w.Rollback()
	}
	if !errors.Is(err, errBroken) || errors.Is(err, ErrPoisoned) {
		t.Errorf("error %v, want errBroken and not ErrPoisoned", err)
	}
	broken.Store(false)
	mustCommit(t, e, "b")
	wantWords(t, e, "a", "b")
}

func TestBackup_isOfADatabaseThatIsDurable(t *testing.T) {
	disk, target := cutClose(t), memfs.New()
	ok(t, mustOpen(t, disk, calm()).Backup(t.Context(), target, "copy", false))
	e := mustOpen(t, disk.CrashKeepNone(), calm())
	mustCommit(t, e, "a")
	ok(t, e.Backup(t.Context(), target, "copy", false)) // which refuses another database's
	copied, err := Open(target, "copy", reading())
	ok(t, err)
	wantWords(t, copied, "a")
	ok(t, copied.Close())
}

// A database that is not on disk would get another identity than its backup.
func TestBackup_isNotOfANewDatabaseThatIsPoisoned(t *testing.T) {
	files, broken := failing(memfs.New(), errBroken, is(faultfs.Sync, "MANIFEST"))
	broken.Store(true)
	e := mustOpen(t, files, calm())
	for range 2 { // the first time it is poisoned by that
		if err := e.Backup(t.Context(), memfs.New(), "copy", false); !errors.Is(err, ErrPoisoned) {
			t.Errorf("error %v, want ErrPoisoned", err)
		}
	}
}

// The mark of an unfinished backup lets another one replace a folder whose manifest is damaged.
func TestBegin_removesTheMarkOfABackupThatIsComplete(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	mustCommit(t, e, "a")
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Remove, "UNFINISHED"))
	broken.Store(true)
	ok(t, e.Backup(t.Context(), files, "db", false))
	if left := named(t, disk, "UNFINISHED-BACKUP"); len(left) != 1 {
		t.Fatalf("the marks %v", left)
	}
	mustCommit(t, mustOpen(t, disk, calm()), "b")
	left := disk.CrashKeepNone()
	if left := named(t, left, "UNFINISHED-BACKUP"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	wantWords(t, mustOpen(t, left, calm()), "a", "b")
}
