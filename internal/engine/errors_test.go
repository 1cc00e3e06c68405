package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// poisoned returns an engine with the word "a" whose second commit, "b", failed as match says.
func poisoned(t testing.TB, disk vfs.FS, match func(faultfs.Op) bool) *Engine {
	t.Helper()
	files, broken := failing(disk, errBroken, match)
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a")
	broken.Store(true)
	if err := tryCommit(e, dataKey("b"), nil); !errors.Is(err, ErrPoisoned) {
		t.Fatalf("commit on a broken disk gives %v", err)
	}
	broken.Store(false)
	return e
}

func TestPoison_endsAllWritingAndNoReading(t *testing.T) {
	for name, match := range map[string]func(faultfs.Op) bool{
		"write": is(faultfs.WriteAt, ".log"),
		"sync":  is(faultfs.Sync, ".log"),
	} {
		t.Run(name, func(t *testing.T) {
			disk := memfs.NewCrashable()
			e := poisoned(t, disk, match)
			before := image(t, disk)
			for call, err := range map[string]error{
				"Commit": tryCommit(e, dataKey("c"), nil),
				"Flush":  e.Flush(),
				"Sync":   e.Sync(),
			} {
				if !errors.Is(err, ErrPoisoned) || !errors.Is(err, errBroken) {
					t.Errorf("%s gives %v", call, err)
				}
			}
			wantWords(t, e, "a")
			wantImage(t, disk, before)
		})
	}
}

func TestPoison_isWhatCloseReports(t *testing.T) {
	disk := memfs.NewCrashable()
	e := poisoned(t, disk, is(faultfs.Sync, ".log"))
	before := image(t, disk)
	if err := e.Close(); !errors.Is(err, ErrPoisoned) || !errors.Is(err, errBroken) {
		t.Errorf("Close gives %v", err)
	}
	wantImage(t, disk, before)
	ok(t, e.Close())
	again := mustOpen(t, disk.CrashKeepNone(), calm())
	wantWords(t, again, "a")
	mustCommit(t, again, "c")
}

// TestPoison_keepsJobsFromTheManifest lets the log fail while a flush or a compaction is under way.
// What that has written must go, and neither the log nor the manifest may change. (Invariant I9)
func TestPoison_keepsJobsFromTheManifest(t *testing.T) {
	for name, o := range map[string]Options{
		"flush":      calm(),
		"compaction": {Tuning: Tuning{YoungRuns: 100, IdleAfter: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var holding, broken atomic.Bool
				held, release := make(chan struct{}, 1), make(chan struct{})
				disk := memfs.NewCrashable()
				e := mustOpen(t, faultfs.New(disk, func(op faultfs.Op) error {
					if holding.Load() && is(faultfs.Create, tableSuffix)(op) {
						poke(held)
						<-release
					}
					if broken.Load() && is(faultfs.Sync, ".log")(op) {
						return errBroken
					}
					return nil
				}), o)
				overlap(t, e, 2)
				holding.Store(true)
				var flush sync.WaitGroup
				if name == "flush" {
					mustCommit(t, e, "b")
					flush.Go(func() { _ = e.Flush() }) // the commit below says the same
				}
				<-held
				broken.Store(true)
				if err := tryCommit(e, dataKey("c"), nil); !errors.Is(err, ErrPoisoned) {
					t.Errorf("commit on a broken disk gives %v", err)
				}
				broken.Store(false)
				before := image(t, disk)
				close(release)
				flush.Wait()
				synctest.Wait()
				wantImage(t, disk, before)
				if err := e.Close(); !errors.Is(err, ErrPoisoned) {
					t.Errorf("Close gives %v", err)
				}
				wantImage(t, disk, before)
			})
		})
	}
}

func TestPoison_failsEveryCommitThatWaited(t *testing.T) {
	const commits = 20
	files, broken := failing(memfs.New(), errBroken, is(faultfs.Sync, ".log"))
	e := mustOpen(t, files, calm())
	broken.Store(true)
	failed := make(chan error)
	for i := range commits {
		go func() { failed <- tryCommit(e, dataKey("%d", i), nil) }()
	}
	for range commits {
		if err := <-failed; !errors.Is(err, errBroken) {
			t.Errorf("a commit gives %v", err)
		}
	}
	if err := tryCommit(e, dataKey("later"), nil); !errors.Is(err, ErrPoisoned) {
		t.Errorf("a later commit gives %v", err)
	}
	wantWords(t, e)
}

func TestPoison_wakesAWriterThatWaitsForRoom(t *testing.T) {
	hold := make(chan struct{})
	tables := is(faultfs.Create, tableSuffix)
	manifests := is(faultfs.Sync, "MANIFEST-")
	var e *Engine
	files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if tables(op) {
			<-hold
		}
		if e != nil && manifests(op) {
			return errBroken
		}
		return nil
	})
	fresh := mustOpen(t, files, calm())
	mustCommit(t, fresh, "a")
	e = fresh
	e.options.Tuning.MemtableBytes = 1
	for range maxSealed {
		mustCommit(t, e, "a")
	}
	failed := make(chan error)
	go func() { failed <- tryCommit(e, dataKey("b"), nil) }()
	close(hold)
	if err := <-failed; !errors.Is(err, ErrPoisoned) {
		t.Errorf("the commit gives %v", err)
	}
}
