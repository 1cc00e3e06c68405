package boltcompat_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "github.com/stoatdb/stoat/boltcompat"
)

func TestCompact_leavesDestinationUsableIfSourceIsDamaged(t *testing.T) {
	src := open(t, damaged(t), nil)
	dst := open(t, filepath.Join(t.TempDir(), "db"), nil)
	if err := bolt.Compact(dst, src, 10_000); !errors.Is(err, bolt.ErrChecksum) {
		t.Errorf("Compact returns %v, want ErrChecksum", err)
	}
	put(t, dst, "key", "the writer is not stuck") // nor is Close
}

func TestWriteTo_closesItsCopyIfDatabaseIsDamaged(t *testing.T) {
	db := open(t, damaged(t), nil)
	err := db.Update(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(io.Discard)
		return err
	})
	if !errors.Is(err, bolt.ErrChecksum) {
		t.Errorf("WriteTo returns %v, want ErrChecksum", err)
	}
	wantNoCopy(t, db)
}

// wantNoCopy reports the copies beside a database, and files of theirs that are still open.
func wantNoCopy(t *testing.T, db *bolt.DB) {
	t.Helper()
	if left, _ := filepath.Glob(db.Path() + ".copy-*"); len(left) > 0 {
		t.Errorf("WriteTo left %v", left)
	}
	open, _ := filepath.Glob("/proc/self/fd/*") // elsewhere there are none
	for _, file := range open {
		if name, err := os.Readlink(file); err == nil && strings.HasPrefix(name, db.Path()+".copy-") {
			t.Errorf("WriteTo left %s open", name)
		}
	}
}
