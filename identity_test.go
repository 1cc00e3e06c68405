package stoat_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
)

// identity opens the database in dir, writes to it if asked to, and returns its identity.
func identity(t *testing.T, dir string, writes bool) stoat.Identity {
	t.Helper()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	before := db.Identity()
	if writes {
		ok(t, db.Put([]byte("k"), nil))
	}
	equal(t, db.Identity(), before)
	ok(t, db.Close())
	equal(t, db.Identity(), before)
	return before
}

func TestDBIdentity_staysWithADatabase(t *testing.T) {
	dir := t.TempDir()
	first := identity(t, dir, true)
	equal(t, identity(t, dir, false), first)
	db, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	equal(t, db.Identity(), first)
	ok(t, db.Close())
	other := identity(t, t.TempDir(), true)
	if other.Database == first.Database || other.Branch == first.Branch {
		t.Error("two databases have an identity in common")
	}
	a, b := memory(t).Identity(), memory(t).Identity()
	if a.Database == b.Database || a.Branch == b.Branch {
		t.Error("two databases in memory have an identity in common")
	}
}

// A backup has a new branch when it is opened, and keeps it once it is written to.
func TestDBIdentity_changesWithABackupThatIsWrittenTo(t *testing.T) {
	parent := t.TempDir()
	db, err := stoat.Open(filepath.Join(parent, "db"), nil)
	ok(t, err)
	ok(t, db.Put([]byte("k"), nil))
	source := db.Identity()
	backup, restored := filepath.Join(parent, "backup"), filepath.Join(parent, "restored")
	ok(t, db.Backup(t.Context(), backup))
	var stream bytes.Buffer
	ok(t, db.BackupTo(t.Context(), &stream))
	ok(t, stoat.RestoreFrom(t.Context(), &stream, restored))
	equal(t, db.Identity(), source)
	ok(t, db.Close())
	seen := map[stoat.Identity]bool{source: true}
	for _, dir := range []string{backup, restored} {
		for range 2 { // nothing is written, so nothing lasts
			got := identity(t, dir, false)
			if got.Database != source.Database || seen[got] {
				t.Errorf("%s has %v, its source %v", dir, got, source)
			}
			seen[got] = true
		}
		lasting := identity(t, dir, true)
		if lasting.Database != source.Database || seen[lasting] {
			t.Errorf("%s has %v once it is written to, its source %v", dir, lasting, source)
		}
		seen[lasting] = true
		equal(t, identity(t, dir, true), lasting)
	}
	equal(t, identity(t, filepath.Join(parent, "db"), true), source)
}

// A copy of the files cannot be told from the original.
func TestDBIdentity_isTheSameInACopiedFolder(t *testing.T) {
	parent := t.TempDir()
	dir, copied := filepath.Join(parent, "db"), filepath.Join(parent, "copied")
	source := identity(t, dir, true)
	ok(t, os.CopyFS(copied, os.DirFS(dir)))
	equal(t, identity(t, copied, true), source)
	equal(t, identity(t, dir, true), source)
}

func TestDBIdentity_changesWithASalvage(t *testing.T) {
	parent := t.TempDir()
	dir, salvaged := filepath.Join(parent, "db"), filepath.Join(parent, "salvaged")
	source := identity(t, dir, true)
	_, err := stoat.Salvage(t.Context(), dir, salvaged)
	ok(t, err)
	got := identity(t, salvaged, true)
	if got.Database == source.Database || got.Branch == source.Branch {
		t.Errorf("%v is salvaged to %v", source, got)
	}
	equal(t, identity(t, salvaged, true), got)
}
