package engine

import (
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/faultfs"
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
