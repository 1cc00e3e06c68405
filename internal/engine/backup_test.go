package engine

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// backedUp returns an engine that reads a backup in the folder "db".
func backedUp(t *testing.T, target *memfs.FS) *Engine {
	t.Helper()
	return mustOpen(t, untouched(t, target), reading())
}

func TestBackup_keepsFilesThatAMergeReplacesMeanwhile(t *testing.T) {
	disk, copied := memfs.New(), memfs.New()
	e := mustOpen(t, disk, calm())
	mustCommit(t, e, "a", "z")
	ok(t, e.Flush())
	mustCommit(t, e, "b", "y")
	ok(t, e.Flush())
	before := named(t, disk, tableSuffix)
	var once sync.Once
	target := faultfs.New(copied, func(op faultfs.Op) error {
		if is(faultfs.Create, tableSuffix)(op) {
			once.Do(func() {
				ok(t, e.Compact(t.Context()))
				if now := named(t, disk, tableSuffix); len(now) <= len(before) {
					t.Errorf("of the tables %v there are only %v", before, now)
				}
			})
		}
		return nil
	})
	ok(t, e.Backup(t.Context(), target, "db", false))
	if now := named(t, disk, tableSuffix); len(now) != 1 {
		t.Errorf("afterwards there are still %v", now)
	}
	if got := named(t, copied, tableSuffix); strings.Join(got, ",") != strings.Join(before, ",") {
		t.Errorf("the backup has %v, want %v", got, before)
	}
	wantWords(t, backedUp(t, copied), "a", "b", "y", "z")
}

func TestBackup_saysThatTheDatabaseIsClosedWhileItVerifies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := Open(memfs.New(), "db", calm())
		ok(t, err)
		mustCommit(t, e, "a", "z")
		var once sync.Once
		var closed sync.WaitGroup
		target := faultfs.New(memfs.New(), func(op faultfs.Op) error {
			if is(faultfs.Open, tableSuffix)(op) { // to read back what was copied
				once.Do(func() {
					closed.Go(func() { ok(t, e.Close()) })
					synctest.Wait()
				})
			}
			return nil
		})
		if err := e.Backup(t.Context(), target, "db", false); !errors.Is(err, ErrClosed) {
			t.Errorf("error %v, want %v", err, ErrClosed)
		}
		closed.Wait()
	})
}

func TestBackup_helpsWhenTheDiskIsFull(t *testing.T) {
	disk, target := memfs.New(), memfs.New()
	files, full := failing(disk, vfs.ErrNoSpace, is(faultfs.Create, tableSuffix))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a", "b")
	full.Store(true)
	for range 2 {
		ok(t, e.Backup(t.Context(), target, "db", false))
		wantWords(t, backedUp(t, target), wordsOf(t, e)...)
		mustCommit(t, e, "c")
	}
	full.Store(false)
	ok(t, e.Backup(t.Context(), target, "db", false))
	wantWords(t, backedUp(t, target), "a", "b", "c")
	want := strings.Join(named(t, disk, tableSuffix), ",")
	if got := strings.Join(named(t, target, tableSuffix), ","); got != want {
		t.Errorf("the backup has %s, want the database's %s", got, want)
	}
}

// TestBackup_readsWhatAReaderHasInMemory backs up a database with a log to replay.
func TestBackup_readsWhatAReaderHasInMemory(t *testing.T) {
	disk, target := killed(t), memfs.New()
	reader := mustOpen(t, untouched(t, disk), reading())
	ok(t, reader.Backup(t.Context(), target, "db", false))
	if logs := named(t, target, ".log"); len(logs) > 0 {
		t.Errorf("the backup has %v to replay", logs)
	}
	wantWords(t, backedUp(t, target), allWords...)
	restored := mustOpen(t, target, calm())
	mustCommit(t, restored, "new")
	ok(t, restored.Close())
	wantWords(t, mustOpen(t, target, calm()), append(allWords[:3:3], "new", "table a", "table b",
		"table c")...)
}

// backedUpTwice returns a database and a backup of it, in which it has the words a and b.
func backedUpTwice(t *testing.T) (e *Engine, target *memfs.FS) {
	t.Helper()
	e, target = mustOpen(t, memfs.New(), calm()), memfs.New()
	for _, word := range []string{"a", "b"} {
		mustCommit(t, e, word)
		ok(t, e.Backup(t.Context(), target, "db", false))
	}
	return e, target
}

func TestBackup_staysOneUntilItIsWrittenTo(t *testing.T) {
	source, target := backedUpTwice(t)
	before := image(t, target)
	for range 2 {
		o := calm()
		o.Tuning.IdleAfter, o.Tuning.YoungRuns = time.Nanosecond, 1
		e := mustOpen(t, target, o)
		wantWords(t, e, "a", "b")
		if e.Branch() == source.Branch() {
			t.Error("what is opened for writing has the branch of its source")
		}
		ok(t, e.Close())
	}
	delete(before, folder.LockName)
	after := image(t, target)
	delete(after, folder.LockName)
	if !maps.EqualFunc(before, after, bytes.Equal) {
		t.Error("opening the backup has changed it")
	}
	mustCommit(t, source, "c")
	ok(t, source.Backup(t.Context(), target, "db", false))
}

// Closing it replaces a manifest that is cut off by one of its own branch.
func TestBackup_withATornManifestIsNoneOnceItWasClosed(t *testing.T) {
	_, target := backedUpTwice(t)
	manifests := named(t, target, "MANIFEST-")
	name := manifests[0]
	put(t, target, name, append(content(t, target, name), 1))
	ok(t, mustOpen(t, target, calm()).Close())
	e := mustOpen(t, target, reading())
	if version := e.state.Load().Levels.Version; version.Backup {
		t.Errorf("it is a backup of branch %x", version.Branch)
	}
	wantWords(t, e, "a", "b")
}

func TestBackup_getsABranchWithTheFirstWrite(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, e *Engine){
		"commit": func(t *testing.T, e *Engine) { mustCommit(t, e, "c") },
		"streamed transaction": func(t *testing.T, e *Engine) {
			w, err := e.Begin()
			ok(t, err)
			put600KB(t, w, "c")
			ok(t, w.Commit())
		},
		"compaction": func(t *testing.T, e *Engine) { ok(t, e.Compact(t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			source, target := backedUpTwice(t)
			disk := memfs.NewCrashable()
			ok(t, source.Backup(t.Context(), disk, "db", false))
			restored := mustOpen(t, disk, calm())
			mine := memfs.New()
			ok(t, restored.Backup(t.Context(), mine, "db", false))
			ok(t, source.Backup(t.Context(), mine, "db", false)) // they are the same still
			change(t, restored)
			crashed := mustOpen(t, disk.CrashKeepNone(), calm())
			if crashed.Branch() != restored.Branch() || restored.Branch() == source.Branch() {
				t.Errorf("branches %x of the source, %x when restored, %x after a crash",
					source.Branch(), restored.Branch(), crashed.Branch())
			}
			ok(t, restored.Backup(t.Context(), memfs.New(), "db", false))
			wantOtherBranch(t, restored, target)
			wantOtherBranch(t, crashed, target)
			own := memfs.New()
			ok(t, restored.Backup(t.Context(), own, "db", false))
			mustCommit(t, source, "d", "e", "f", "g")
			wantOtherBranch(t, source, own)
		})
	}
}

// wantOtherBranch wants a backup into the folder to be refused because it is of another branch.
func wantOtherBranch(t *testing.T, e *Engine, target *memfs.FS) {
	t.Helper()
	was := image(t, target)
	err := e.Backup(t.Context(), target, "db", false)
	if err == nil || !strings.Contains(err.Error(), "branch") ||
		!strings.Contains(err.Error(), "choose another directory") {
		t.Errorf("a backup of another branch: %v", err)
	}
	wantImage(t, target, was)
}

func TestBackup_marksNoOtherManifest(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, calm())
	mustCommit(t, e, "a")
	ok(t, e.Flush())
	for range 5 {
		w, err := e.Begin()
		ok(t, err)
		ok(t, w.Delete(dataKey("absent")))
		ok(t, w.Commit())
		ok(t, e.Flush())
		ok(t, e.Compact(t.Context()))
		if v := e.state.Load().Levels.Version; v.Backup {
			t.Fatalf("the manifest has the log number %d and the next number %d", v.LogNumber,
				v.NextNumber)
		}
		crashed := mustOpen(t, disk.CrashKeepNone(), calm())
		if crashed.Branch() != e.Branch() {
			t.Fatal("a crash makes another branch")
		}
		ok(t, crashed.Close())
	}
}

func TestBackup_saysUpToWhichCommitItIs(t *testing.T) {
	disk, target := memfs.New(), memfs.New()
	files, full := failing(disk, vfs.ErrNoSpace, is(faultfs.Create, tableSuffix))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a", "b", "c")
	full.Store(true)
	ok(t, e.Backup(t.Context(), target, "db", false))
	full.Store(false)
	if got := backedUp(t, target).Visible(); got != 3 {
		t.Errorf("the backup is up to commit %d, want 3", got)
	}
}

func TestBackup_endsWhileItWaits(t *testing.T) {
	for name, wait := range map[string]func(t *testing.T, e *Engine) (done func()){
		"for a writer": func(t *testing.T, e *Engine) func() {
			w, err := e.Begin()
			ok(t, err)
			return w.Rollback
		},
		"for a flush": func(t *testing.T, e *Engine) func() {
			mustCommit(t, e, "a")
			e.mu.Lock()
			e.mu.flushing = true // by nobody
			e.mu.Unlock()
			return func() {
				e.mu.Lock()
				defer e.mu.Unlock()
				e.mu.flushing = false
				e.startFlushLocked()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, err := Open(memfs.New(), "db", calm())
				ok(t, err)
				done := wait(t, e)
				for _, run := range []func(ctx context.Context) error{
					func(ctx context.Context) error {
						return e.Backup(ctx, memfs.New(), "db", false)
					},
					e.Compact,
				} {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					if err := run(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
					}
					cancel()
				}
				done()
				ok(t, e.Backup(t.Context(), memfs.New(), "db", false))
				ok(t, e.Close())
			})
		})
	}
}

func TestBackup_saysWhichOfTwoFilesIsDamaged(t *testing.T) {
	for _, c := range []struct {
		suffix, want   string
		source, copied bool
	}{
		{tableSuffix, "the backup is damaged", false, true},
		{tableSuffix, "the database is damaged", true, false},
		{tableSuffix, "both are damaged", true, true},
		{".log", "the backup is damaged", false, true},
		{".log", "the database is damaged", true, false},
	} {
		t.Run(c.suffix+" "+c.want, func(t *testing.T) {
			disk, target := memfs.New(), memfs.New()
			o := calm()
			o.ValueThreshold, o.Compression = 64, CompressionNone
			e := mustOpen(t, disk, o)
			mustCommit(t, e, "a", "b")
			ok(t, tryCommit(e, dataKey("long"), bytes.Repeat([]byte("x"), 2000)))
			ok(t, e.Backup(t.Context(), target, "db", false))
			for i, files := range []*memfs.FS{disk, target} {
				if damaged := []bool{c.source, c.copied}[i]; damaged {
					name := named(t, target, c.suffix)[0]
					p := content(t, files, name)
					p[min(400, len(p)/2)+i] ^= 1
					put(t, files, name, p)
				}
			}
			err := e.Backup(t.Context(), target, "db", false)
			if !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
