package stoat_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/symlink"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestBackup_copiesOnlyWhatIsNew(t *testing.T) {
	db, target := openOn(t, memfs.New(), nil), memfs.New()
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.Put([]byte("old"), make([]byte, 100_000))) })
	ok(t, tuned.Backup(context.Background(), db, target, "db", false))
	first := db.Stats()
	if first.BackupFiles == 0 || first.BackupKept > 0 ||
		first.BackupBytes < first.TableBytes+first.ValueFileBytes {
		t.Fatalf("the first backup: %+v", first)
	}
	ok(t, db.Put([]byte("new"), []byte("value")))
	ok(t, tuned.Backup(context.Background(), db, target, "db", false))
	second := db.Stats()
	if files := second.BackupFiles - first.BackupFiles; files != 1 || second.BackupKept == 0 {
		t.Errorf("%d files copied, %d kept", files, second.BackupKept)
	}
	if bytes := second.BackupBytes - first.BackupBytes; bytes > 1000 {
		t.Errorf("%d bytes copied", bytes)
	}
	ok(t, tuned.Backup(context.Background(), db, target, "db", false))
	equal(t, db.Stats().BackupBytes, second.BackupBytes)
	ok(t, db.Close())
}

func TestBackup_ofAPoisonedDatabase(t *testing.T) {
	var broken atomic.Bool
	disk, target := memfs.New(), memfs.New()
	db := openOn(t, faultfs.New(disk, func(op faultfs.Op) error {
		if broken.Load() && op.Kind == faultfs.Sync {
			return errors.New("broken")
		}
		return nil
	}), nil)
	ok(t, db.Put([]byte("k"), []byte("v-k")))
	broken.Store(true)
	wantErr(t, db.Put([]byte("lost"), nil), stoat.ErrPoisoned)
	ok(t, tuned.Backup(context.Background(), db, target, "db", false))
	wantErr(t, db.Close(), stoat.ErrPoisoned)
	restored := openOn(t, target, nil)
	view(t, restored, func(tx *stoat.Tx) { wantKeys(t, tx, "k") })
	ok(t, restored.Close())
}

// TestBackup_ofMemoryGoesToTheDisk uses the file system of the operating system.
func TestBackup_ofMemoryGoesToTheDisk(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "a", "b")
		ok(t, tx.Put([]byte("large"), make([]byte, 3<<20)))
	})
	dir := filepath.Join(t.TempDir(), "new", "backup")
	for range 2 {
		ok(t, db.Backup(t.Context(), dir))
		ok(t, db.BackupLinked(t.Context(), dir))
		update(t, db, func(tx *stoat.Tx) { put(t, tx, "c") })
	}
	restored := filepath.Join(t.TempDir(), "restored")
	kept, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	ok(t, kept.BackupLinked(t.Context(), restored))
	ok(t, kept.Close())
	again, err := stoat.Open(restored, nil)
	ok(t, err)
	view(t, again, func(tx *stoat.Tx) {
		equalKeys(t, keysOf(tx.Keys(stoat.Range{})), []string{"a", "b", "c", "large"})
	})
	ok(t, again.Put([]byte("d"), nil))
	ok(t, again.Close())
}

// TestBackup_staysOutOfTheDatabaseBehindALink names a folder in the database by a symbolic link.
func TestBackup_staysOutOfTheDatabaseBehindALink(t *testing.T) {
	parent := t.TempDir()
	dir, link := filepath.Join(parent, "db"), filepath.Join(parent, "link")
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	inner := filepath.Join(dir, "mine", "inner")
	ok(t, os.MkdirAll(inner, 0o700))
	symlink.Make(t, inner, link)
	for _, to := range []string{link, filepath.Join(link, "new"), filepath.Join(link, "a", "b")} {
		err := db.Backup(t.Context(), to)
		if err == nil || !strings.Contains(err.Error(), "lies in it") {
			t.Errorf("a backup to %s: %v", to, err)
		}
	}
	ok(t, os.Remove(link))
	symlink.Make(t, filepath.Join(parent, "elsewhere"), link)
	ok(t, os.Mkdir(filepath.Join(parent, "elsewhere"), 0o700))
	ok(t, db.Backup(t.Context(), filepath.Join(link, "new")))
	if _, err := os.Stat(filepath.Join(parent, "elsewhere", "new", "LOCK")); err != nil {
		t.Error(err)
	}
	ok(t, db.Close())
}

// TestBackup_writesThroughNoLink puts symbolic links in the place of the files of a backup.
func TestBackup_writesThroughNoLink(t *testing.T) {
	parent := t.TempDir()
	db, err := stoat.Open(filepath.Join(parent, "db"), nil)
	ok(t, err)
	ok(t, db.Put([]byte("k"), []byte("v-k")))
	ok(t, db.Flush())
	victim, dir := filepath.Join(parent, "victim"), filepath.Join(parent, "backup")
	ok(t, os.WriteFile(victim, []byte("precious"), 0o600))
	ok(t, os.Mkdir(dir, 0o700))
	names, err := os.ReadDir(filepath.Join(parent, "db"))
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "UNFINISHED-BACKUP"), nil, 0o600))
	for _, name := range names {
		if strings.HasPrefix(name.Name(), "MANIFEST") || name.Name() == "LOCK" { // which is refused
			continue
		}
		symlink.Make(t, victim, filepath.Join(dir, name.Name()))
	}
	ok(t, db.Backup(t.Context(), dir))
	ok(t, db.Close())
	content, err := os.ReadFile(victim)
	ok(t, err)
	equal(t, string(content), "precious")
	kept, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	view(t, kept, func(tx *stoat.Tx) { wantKeys(t, tx, "k") })
	ok(t, kept.Close())
}

func TestRestoreFrom_refusesNoName(t *testing.T) {
	t.Chdir(t.TempDir())
	var stream bytes.Buffer
	ok(t, memory(t).BackupTo(t.Context(), &stream))
	if err := stoat.RestoreFrom(t.Context(), &stream, ""); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("restored with %v", err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("%v are in the working directory (%v)", left, err)
	}
}
