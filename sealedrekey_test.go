package stoat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/folder"
)

// TestRekey_changesTheKey wants a database and its backups to open with the keys that they have,
// and key files of a backup to be as good as those of the database.
func TestRekey_changesTheKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	copied, linked := dir+"-copied", dir+"-linked"
	db := openKeyed(t, dir, keyed(1))
	fillSecret(t, db, 0, 100)
	want := sum(t, db)
	ok(t, db.Backup(t.Context(), copied))
	ok(t, db.BackupLinked(t.Context(), linked))
	wantErr(t, stoat.Rekey(dir, keyed(1).Key, keyed(2).Key), stoat.ErrLocked)
	ok(t, db.Close())
	ok(t, stoat.Rekey(dir, keyed(1).Key, keyed(2).Key))
	wantKey := func(dir string, right, wrong byte) {
		t.Helper()
		_, err := stoat.Open(dir, keyed(wrong))
		wantErr(t, err, stoat.ErrKey)
		db := openKeyed(t, dir, keyed(right))
		ok(t, db.Check(t.Context()))
		equal(t, sum(t, db), want)
		ok(t, db.Close())
	}
	wantKey(dir, 2, 1)
	wantKey(copied, 1, 2)
	wantKey(linked, 1, 2)
	for name := range contents(t, dir) {
		if strings.HasPrefix(name, folder.KeyPrefix) {
			ok(t, os.Remove(filepath.Join(dir, name)))
		}
	}
	_, err := stoat.Open(dir, keyed(2))
	wantErr(t, err, stoat.ErrCorrupt)
	for name, p := range contents(t, copied) {
		if strings.HasPrefix(name, folder.KeyPrefix) {
			ok(t, os.WriteFile(filepath.Join(dir, name), []byte(p), 0o600))
		}
	}
	wantKey(dir, 1, 2)
	for _, keys := range [][2][]byte{{nil, keyed(1).Key}, {keyed(1).Key, nil}, {{1}, {2}}} {
		if stoat.Rekey(dir, keys[0], keys[1]) == nil {
			t.Errorf("%v is taken for keys", keys)
		}
	}
}

// TestCheck_findsADamagedKeyFile wants the second copy to be missed before the first is lost.
func TestCheck_findsADamagedKeyFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openKeyed(t, dir, keyed(1))
	ok(t, db.Check(t.Context()))
	fillSecret(t, db, 0, 10)
	ok(t, db.Check(t.Context()))
	ok(t, os.Truncate(filepath.Join(dir, folder.KeyName(1)), 60))
	wantErr(t, db.Check(t.Context()), stoat.ErrCorrupt)
	wantErr(t, db.CheckQuick(t.Context()), stoat.ErrCorrupt)
	wantFindings(t, db, 2) // the file, and that one is too few
	stray := filepath.Join(dir, folder.Table.Name(999_999))
	ok(t, os.WriteFile(stray, nil, 0o600))
	wantFindings(t, db, 3)
	ok(t, os.Remove(stray))
	ok(t, db.Close())
	ok(t, stoat.Rekey(dir, keyed(1).Key, keyed(1).Key))
	db = openKeyed(t, dir, keyed(1))
	ok(t, db.Check(t.Context()))
	ok(t, db.Close())
}

// wantFindings wants a check to tell so many findings, none of which are several.
func wantFindings(t *testing.T, db *stoat.DB, want int) {
	t.Helper()
	err := db.Check(t.Context())
	joined, many := err.(interface{ Unwrap() []error })
	if !many {
		t.Fatalf("error %v, want %d findings", err, want)
	}
	found := joined.Unwrap()
	equal(t, len(found), want)
	for _, one := range found {
		wantErr(t, one, stoat.ErrCorrupt)
		if strings.Contains(one.Error(), "\n") {
			t.Errorf("one finding has several lines: %v", one)
		}
	}
}
