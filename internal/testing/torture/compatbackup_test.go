package torture

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
)

// compatUntagged has a database, and a folder and a stream that are backups of it, from before
// manifests had a tag for that.
const compatUntagged = compatDir + "/v1-untagged"

// untagged returns copies of that database and of the folder.
func untagged(t *testing.T) (source *stoat.DB, backup string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"source", "backup"} {
		files := readFolder(t, filepath.Join(compatUntagged, name, "db"))
		writeFolder(t, filepath.Join(dir, name), files)
	}
	return compatOpen(t, filepath.Join(dir, "source"), false, 0), filepath.Join(dir, "backup")
}

func TestCompat_takesAnUntaggedBackupForOne(t *testing.T) {
	db, backup := untagged(t)
	defer func() { ok(t, db.Close()) }()
	ok(t, db.Put([]byte("new"), []byte("value")))
	ok(t, db.Backup(t.Context(), backup))
	if kept := db.Stats().BackupKept; kept == 0 {
		t.Error("the files of the earlier backup were copied again")
	}
	got := compatOpen(t, backup, true, 0)
	equal(t, listing(t, got), listing(t, db))
	ok(t, got.Close())
}

func TestCompat_leavesAnUntaggedBackupThatWasWrittenTo(t *testing.T) {
	db, backup := untagged(t)
	defer func() { ok(t, db.Close()) }()
	copied := compatOpen(t, backup, false, 0)
	ok(t, copied.Put([]byte("other"), []byte("value")))
	ok(t, copied.Close())
	if err := db.Backup(t.Context(), backup); err == nil {
		t.Error("a copy that has gone its own way is replaced by a backup")
	}
}

func TestCompat_restoresAnUntaggedStream(t *testing.T) {
	stream, err := os.Open(filepath.Join(compatUntagged, "backup", "stream.tar"))
	ok(t, err)
	defer func() { ok(t, stream.Close()) }()
	dir := filepath.Join(t.TempDir(), "restored")
	ok(t, stoat.RestoreFrom(t.Context(), stream, dir))
	db := compatOpen(t, dir, true, 0)
	equal(t, listing(t, db), readText(t, filepath.Join(compatUntagged, "backup", compatWant)))
	ok(t, db.Close())
}
