package stoat_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// TestKey_backupOfOtherKey wants a backup to be left alone by a database with another key.
func TestKey_backupOfOtherKey(t *testing.T) {
	dir, to := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "backup")
	db := openKeyed(t, dir, keyed(1))
	fillSecret(t, db, 0, 10)
	ok(t, db.Backup(t.Context(), to))
	ok(t, db.Close())
	before := contents(t, to)
	for _, opts := range []*stoat.Options{keyed(2), nil} {
		other := openKeyed(t, filepath.Join(t.TempDir(), "db"), opts)
		fillSecret(t, other, 0, 1)
		wantErr(t, other.Backup(t.Context(), to), stoat.ErrKey)
		ok(t, other.Close())
	}
	if !maps.Equal(contents(t, to), before) {
		t.Error("the backup has changed")
	}
}

// TestBackupWithKey_choosesTheKey encrypts, decrypts and encrypts anew, with incremental backups.
func TestBackupWithKey_choosesTheKey(t *testing.T) {
	for _, source := range []*stoat.Options{nil, keyed(1)} {
		db := openKeyed(t, filepath.Join(t.TempDir(), "db"), source)
		for _, target := range []*stoat.Options{{}, keyed(1), keyed(2)} {
			to := filepath.Join(t.TempDir(), "backup")
			for n := range 2 {
				fillSecret(t, db, 100*n, 20)
				ok(t, db.BackupWithKey(t.Context(), to, target.Key))
				backup := openKeyed(t, to, &stoat.Options{Key: target.Key, ReadOnly: true})
				equal(t, sum(t, backup), sum(t, db))
				ok(t, backup.Check(t.Context()))
				ok(t, backup.Close())
			}
			if _, readable := plaintext(t, to); (len(readable) > 0) != (target.Key == nil) {
				t.Errorf("one can read %q", readable)
			}
			wantErr(t, db.BackupWithKey(t.Context(), to, keyed(3).Key), stoat.ErrKey)
		}
		ok(t, db.Close())
	}
}

// TestBackupWithKey_keepsOutOfTheDatabase wants no backup in the directory of the database, however
// each of them is encrypted.
func TestBackupWithKey_keepsOutOfTheDatabase(t *testing.T) {
	for _, source := range []*stoat.Options{{}, keyed(1)} {
		dir := filepath.Join(t.TempDir(), "db")
		db := openKeyed(t, dir, source)
		fillSecret(t, db, 0, 20)
		for _, target := range []*stoat.Options{{}, keyed(1), keyed(2)} {
			for _, to := range []string{dir, filepath.Join(dir, "sub"), filepath.Join(dir, "a", "b")} {
				err := db.BackupWithKey(t.Context(), to, target.Key)
				if err == nil || !strings.Contains(err.Error(), "choose another") {
					t.Errorf("with a key %t, a backup with a key %t to %s: %v", source.Key != nil,
						target.Key != nil, to, err)
				}
			}
		}
		if entries, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(entries) > 0 {
			t.Errorf("%q was written, %v", entries, err)
		}
		ok(t, db.Close())
	}
}
