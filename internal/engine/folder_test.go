package engine

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// A process that waits for the lock of a folder that is replaced meanwhile must not get the old
// one.
func TestOpen_takesTheFolderThatIsThereWhenTheLockIsFree(t *testing.T) {
	disk := memfs.New()
	first := mustOpen(t, disk, calm())
	mustCommit(t, first, "old")
	var tries atomic.Int64
	files := faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind == faultfs.Lock && tries.Add(1) == 2 { // the first one has failed
			ok(t, disk.Rename("db", "moved"))
			second := mustOpen(t, disk, calm())
			mustCommit(t, second, "new")
			ok(t, second.Close())
			_ = first.Close() // poisoned, or not, as it comes
		}
		return nil
	})
	o := calm()
	o.LockTimeout = time.Minute
	e, err := Open(files, "db", o)
	ok(t, err)
	wantWords(t, e, "new")
	mustCommit(t, e, "newer")
	ok(t, e.Close())
	ok(t, disk.Rename("db", "away"))
	ok(t, disk.Rename("moved", "db"))
	wantWords(t, mustOpen(t, disk, calm()), "old")
}

func TestOpen_makesNoFileWithoutAName(t *testing.T) {
	disk := memfs.New()
	for _, readOnly := range []bool{false, true} {
		o := calm()
		o.ReadOnly = readOnly
		if _, err := Open(disk, "", o); err == nil {
			t.Error("a database without a folder is opened")
		}
	}
	for _, dir := range []string{".", "/"} {
		names, err := disk.List(dir)
		ok(t, err)
		if len(names) > 0 {
			t.Errorf("%s has %q", filepath.Clean(dir), names)
		}
	}
}
