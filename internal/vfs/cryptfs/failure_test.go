package cryptfs

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

var errBroken = errors.New("broken on purpose")

// TestSync_failureIsFinal fails one sync. What it has lost may not be taken for durable after the
// next one.
func TestSync_failureIsFinal(t *testing.T) {
	for _, name := range []string{"db/000001.table", "db/000001.log"} {
		failing := false
		files := newTestFS(t, faultfs.New(newMemory(t), func(op faultfs.Op) error {
			if failing && op.Kind == faultfs.Sync {
				return errBroken
			}
			return nil
		}), 1)
		f, err := files.Create(name)
		ok(t, err)
		_, err = f.WriteAt(text(100), 0)
		ok(t, err)
		failing = true
		wantErr(t, f.Sync(), errBroken)
		failing = false
		wantErr(t, f.Sync(), errBroken)
		_, err = f.WriteAt(text(100), 100)
		wantErr(t, err, errBroken)
	}
}

// unwritable is a file that takes no writes, and counts what it is asked to sync.
type unwritable struct {
	vfs.File // nil
	syncs    int
}

func (*unwritable) WriteAt([]byte, int64) (int, error) { return 0, errBroken }

func (u *unwritable) StartSync(int64, int64) { u.syncs++ }

func (u *unwritable) Sync() error {
	u.syncs++
	return nil
}

// TestSync_ofAFileThatCouldNotBeEnded wants nothing to be synced: it would look finished.
func TestSync_ofAFileThatCouldNotBeEnded(t *testing.T) {
	data, err := nthKey(t, 1).newDataKey(key(9))
	ok(t, err)
	head, keys, err := data.newHeader(paged)
	ok(t, err)
	file := new(unwritable)
	w := newPageWriter(file, "db/000001.table", head, keys)
	_, err = w.WriteAt(text(100), 0) // it stays in memory
	ok(t, err)
	for range 2 {
		wantErr(t, w.Sync(), errBroken)
	}
	if file.syncs > 0 {
		t.Errorf("%d syncs after a failed write", file.syncs)
	}
}
