package engine

import (
	"errors"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// twoFlushes returns a disk after a crash, with a manifest that has two edits, and nothing to
// replay.
func twoFlushes(t *testing.T) *memfs.FS {
	t.Helper()
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, calm())
	for _, word := range []string{"a", "b"} {
		mustCommit(t, e, word)
		ok(t, e.Flush())
	}
	return disk.CrashKeepAll()
}

// A session that writes nothing leaves a manifest without edits, too, after a crash.
func TestClose_leavesNoEditsOfACrashedSession(t *testing.T) {
	disk := twoFlushes(t)
	e := mustOpen(t, disk, calm())
	wantWords(t, e, "a", "b")
	ok(t, e.Close())
	state, err := manifest.Load(disk, "db")
	ok(t, err)
	if state.Edits > 0 || state.Torn {
		t.Errorf("the manifest has %d edits, torn: %v", state.Edits, state.Torn)
	}
}

// A manifest that was cut off anywhere is told from a torn one by its copy.
func TestOpen_noticesThatTheManifestLacksItsEnd(t *testing.T) {
	disk := twoFlushes(t)
	name := named(t, disk, "MANIFEST-")[0]
	whole := content(t, disk, name)
	state, err := manifest.Load(disk, "db")
	ok(t, err)
	for size := int64(len(whole)); size > 100; size-- {
		cut := disk.CrashKeepAll()
		put(t, cut, name, whole[:size])
		before := image(t, cut)
		_, err := Open(cut, "db", calm())
		if size < state.End {
			if !errors.Is(err, corrupt.Err) {
				t.Fatalf("cut to %d of %d bytes: error %v, want corrupt.Err", size, state.End, err)
			}
			wantImage(t, cut, before)
		} else if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		e, err := Open(cut, "db", Options{ReadOnly: true})
		ok(t, err)
		if size < state.End {
			wantWords(t, e, "a", "b")
		}
		ok(t, e.Close())
	}
}

// A commit that goes to tables leaves no log in which a Sync beside it would look for it.
func TestSync_besideLoadsDoesNoHarm(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	stop := make(chan struct{})
	var syncs sync.WaitGroup
	for range 4 {
		syncs.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := e.Sync(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 200 {
		l, err := e.BeginLoad(t.Context())
		ok(t, err)
		ok(t, l.Put(dataKey("%d", n), nil))
		ok(t, l.Commit())
	}
	close(stop)
	syncs.Wait()
}

// What the manifest names after a failed sync of it is not known, so that nothing is in excess.
func TestCheck_ofAPoisonedManifestTellsNobodyToRemoveAnything(t *testing.T) {
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Sync, "MANIFEST-"))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a")
	ok(t, e.Flush())
	mustCommit(t, e, "b")
	broken.Store(true)
	if err := e.Flush(); !errors.Is(err, ErrPoisoned) {
		t.Fatalf("error %v, want ErrPoisoned", err)
	}
	waitFor(e, func() bool { return !e.mu.flushing })
	ok(t, e.Check(t.Context(), false))
	_ = e.Close()
}

// A folder without a manifest is damaged, whatever else lies in it.
func TestOpen_ofDataWithoutAManifestIsDamageBesideOtherFiles(t *testing.T) {
	disk := closed(t, "a")
	removeCopies(t, disk)
	ok(t, disk.Remove("db/"+named(t, disk, "MANIFEST-")[0]))
	put(t, disk, "notes.txt", []byte("mine"))
	wantRefused(t, refused{disk, corrupt.Err, "db"})
}

// A full disk keeps closing from tidying up, which is no loss.
func TestClose_onAFullDiskSucceedsIfAllIsInTables(t *testing.T) {
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Create, ""))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a")
	ok(t, e.Flush())
	waitFor(e, func() bool { return !e.mu.flushing })
	broken.Store(true)
	ok(t, e.Close())
	wantWords(t, mustOpen(t, disk, calm()), "a")
}
