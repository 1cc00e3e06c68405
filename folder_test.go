package stoat_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// wantsRenames skips the test where an open database cannot be renamed, or is reached by its path.
func wantsRenames(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		t.Skip("the folder of an open database keeps its name")
	}
}

// image returns what the files in a folder hold, by their names.
func image(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	ok(t, err)
	all := make(map[string]string)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		ok(t, err)
		all[e.Name()] = string(content)
	}
	return all
}

// wantImage wants no file of a folder to have been made, changed or removed.
func wantImage(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	got := image(t, dir)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s in %s was changed or removed", name, dir)
		}
	}
	equal(t, len(got), len(want))
}

// wantOnly wants a database to be sound and to have these keys, each with its value of put.
func wantOnly(t testing.TB, dir string, keys ...string) {
	t.Helper()
	db := openDir(t, dir, nil)
	ok(t, db.Check(context.Background()))
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, keys...) })
	ok(t, db.Close())
}

// wantNotLost wants a database to be sound and to have these keys. It may have what a commit wrote
// that was refused when the database was poisoned, too.
func wantNotLost(t testing.TB, dir string, keys ...string) {
	t.Helper()
	db := openDir(t, dir, nil)
	ok(t, db.Check(context.Background()))
	for _, k := range keys {
		v, err := db.Get([]byte(k))
		ok(t, err)
		equal(t, string(v), "v-"+k)
	}
	ok(t, db.Close())
}

// putUntilRefused stores keys until that fails, and returns those that were acknowledged and why it
// failed; after as many as most wanted it gives up.
func putUntilRefused(db *stoat.DB, most int) (acknowledged []string, err error) {
	for i := range most {
		key := "after-" + string(rune('a'+i))
		if err := db.Put([]byte(key), []byte("v-"+key)); err != nil {
			return acknowledged, err
		}
		acknowledged = append(acknowledged, key)
		if err := db.Flush(); err != nil {
			return acknowledged, err
		}
	}
	return acknowledged, nil
}

// The procedure of "stoat help restore", while a process has the database open: what it commits is
// refused, and the restored database is left alone.
func TestDB_leavesADatabaseAloneThatWasRestoredInItsPlace(t *testing.T) {
	wantsRenames(t)
	top := t.TempDir()
	dir, old, backup := filepath.Join(top, "my.db"), filepath.Join(top, "my.db.old"),
		filepath.Join(top, "backup")
	db := openDir(t, dir, nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
	ok(t, db.Backup(context.Background(), backup))
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "b") })
	ok(t, os.Rename(dir, old))
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "c") }) // nobody can take another folder for it yet

	source := openDir(t, backup, &stoat.Options{ReadOnly: true})
	ok(t, source.Backup(context.Background(), dir))
	ok(t, source.Close())
	restored := openDir(t, dir, nil)
	update(t, restored, func(tx *stoat.Tx) { put(t, tx, "restored") })
	ok(t, restored.Close())
	_, err := stoat.Open(old, nil)
	wantErr(t, err, stoat.ErrLocked)
	before := image(t, dir)

	acknowledged, err := putUntilRefused(db, 3)
	wantErr(t, err, stoat.ErrPoisoned)
	t.Log(err)
	for _, part := range []string{dir, "renamed", "another"} {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("the error %q does not say %q", err, part)
		}
	}
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a", "b", "c") })
	wantErr(t, db.Close(), stoat.ErrPoisoned)
	equal(t, len(acknowledged), 0)
	wantImage(t, dir, before)
	wantOnly(t, dir, "a", "restored")
	wantNotLost(t, old, "a", "b", "c")
}

func TestDB_goesOnInARenamedFolder(t *testing.T) {
	wantsRenames(t)
	top := t.TempDir()
	dir, moved := filepath.Join(top, "db"), filepath.Join(top, "moved")
	db := openDir(t, dir, &stoat.Options{ValueThreshold: 64})
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
	ok(t, db.Flush())
	ok(t, os.Rename(dir, moved))
	_, err := stoat.Open(moved, nil)
	wantErr(t, err, stoat.ErrLocked)
	large := strings.Repeat("large", 100)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, large) })
	acknowledged, err := putUntilRefused(db, 3)
	ok(t, err)
	ok(t, db.Compact(context.Background()))
	ok(t, db.Check(context.Background()))
	ok(t, db.Backup(context.Background(), filepath.Join(top, "backup")))
	ok(t, db.Close())
	want := append(append([]string{"a"}, acknowledged...), large)
	wantOnly(t, moved, want...)
	wantOnly(t, filepath.Join(top, "backup"), want...)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("at the old path there is something: %v", err)
	}
}

func TestDB_staysWhereItIsWhenTheProcessChangesItsFolder(t *testing.T) {
	if runtime.GOOS == "js" {
		t.Skip("a process has no folder of its own")
	}
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		db := openDir(t, filepath.Join(dir, "my.db"), nil)
		update(t, db, func(tx *stoat.Tx) { put(t, tx, "old") })
		ok(t, db.Close())
	}
	before := image(t, filepath.Join(second, "my.db"))
	t.Chdir(first)
	db := openDir(t, "my.db", nil)
	t.Chdir(second)
	acknowledged, err := putUntilRefused(db, 3)
	ok(t, err)
	ok(t, db.Compact(context.Background()))
	ok(t, db.Check(context.Background()))
	ok(t, db.Close())
	wantImage(t, filepath.Join(second, "my.db"), before)
	wantOnly(t, filepath.Join(first, "my.db"), append(acknowledged, "old")...)
	wantOnly(t, "my.db", "old")
}

func TestDB_readsOnWhereItWasOpenedForReading(t *testing.T) {
	wantsRenames(t)
	top := t.TempDir()
	dir, moved := filepath.Join(top, "db"), filepath.Join(top, "moved")
	db := openDir(t, dir, nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
	ok(t, db.Close())
	reader := openDir(t, dir, &stoat.Options{ReadOnly: true})
	ok(t, os.Rename(dir, moved))
	other := openDir(t, dir, nil)
	update(t, other, func(tx *stoat.Tx) { put(t, tx, "other") })
	view(t, reader, func(tx *stoat.Tx) { wantKeys(t, tx, "a") })
	ok(t, reader.Check(context.Background()))
	ok(t, reader.Backup(context.Background(), filepath.Join(top, "backup")))
	ok(t, reader.Close())
	ok(t, other.Close())
	wantOnly(t, filepath.Join(top, "backup"), "a")
}

func TestDB_refusesCommitsWithoutItsOwnLock(t *testing.T) {
	wantsRenames(t)
	for name, take := range map[string]func(lock string) error{
		"removed": os.Remove,
		"renamed": func(lock string) error { return os.Rename(lock, lock+".old") },
		"replaced": func(lock string) error {
			return errors.Join(os.Remove(lock), os.WriteFile(lock, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			db := openDir(t, dir, nil)
			update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
			ok(t, take(filepath.Join(dir, "LOCK")))
			err := db.Put([]byte("b"), []byte("v-b"))
			wantErr(t, err, stoat.ErrPoisoned)
			if err != nil && !strings.Contains(err.Error(), "LOCK") {
				t.Errorf("the error %q does not name the file", err)
			}
			next := openDir(t, dir, nil)
			v, err := next.Get([]byte("a"))
			ok(t, err)
			equal(t, string(v), "v-a")
			update(t, next, func(tx *stoat.Tx) { put(t, tx, "c") })
			wantErr(t, db.Flush(), stoat.ErrPoisoned)
			wantErr(t, db.Close(), stoat.ErrPoisoned)
			update(t, next, func(tx *stoat.Tx) { put(t, tx, "d") })
			ok(t, next.Check(context.Background()))
			ok(t, next.Close())
		})
	}
}

func TestDB_refusesCommitsThatGoToALogWithoutAName(t *testing.T) {
	wantsRenames(t)
	dir := filepath.Join(t.TempDir(), "db")
	db := openDir(t, dir, nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	ok(t, err)
	content, err := os.ReadFile(logs[0])
	ok(t, err)
	ok(t, os.Remove(logs[0]))
	ok(t, os.WriteFile(logs[0], content, 0o600))
	err = db.Put([]byte("b"), []byte("v-b"))
	wantErr(t, err, stoat.ErrPoisoned)
	if err != nil && !strings.Contains(err.Error(), filepath.Base(logs[0])) {
		t.Errorf("the error %q does not name the file", err)
	}
	wantErr(t, db.Close(), stoat.ErrPoisoned)
	wantOnly(t, dir, "a")
}

func TestDB_keepsItsLogWhenTheManifestWasReplaced(t *testing.T) {
	wantsRenames(t)
	dir := filepath.Join(t.TempDir(), "db")
	db := openDir(t, dir, nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-??????"))
	ok(t, err)
	content, err := os.ReadFile(manifests[0])
	ok(t, err)
	ok(t, os.Remove(manifests[0]))
	ok(t, os.WriteFile(manifests[0], content, 0o600))
	ok(t, db.Put([]byte("b"), []byte("v-b"))) // the log is what it was
	wantErr(t, db.Flush(), stoat.ErrPoisoned)
	wantErr(t, db.Close(), stoat.ErrPoisoned)
	wantOnly(t, dir, "a", "b")
}

func TestOpen_followsASymbolicLinkToTheFolder(t *testing.T) {
	wantsRenames(t)
	top := t.TempDir()
	link := filepath.Join(top, "db")
	blue, green := filepath.Join(top, "blue"), filepath.Join(top, "green")
	ok(t, os.Symlink(blue, link))
	ok(t, os.Mkdir(blue, 0o700))
	db := openDir(t, link, nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "blue") })
	ok(t, db.Flush())
	ok(t, openDir(t, green, nil).Close())
	ok(t, os.Remove(link))
	ok(t, os.Symlink(green, link))
	wantErr(t, db.Put([]byte("lost"), nil), stoat.ErrPoisoned)
	wantErr(t, db.Close(), stoat.ErrPoisoned)
	wantOnly(t, link)
	wantNotLost(t, blue, "blue")
}

func TestDB_isFoundToBeReplacedWithoutSyncs(t *testing.T) {
	wantsRenames(t)
	top := t.TempDir()
	dir, old := filepath.Join(top, "db"), filepath.Join(top, "old")
	db := openDir(t, dir, &stoat.Options{Sync: stoat.SyncNever})
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
	ok(t, os.Rename(dir, old))
	ok(t, openDir(t, dir, nil).Close())
	before := image(t, dir)
	wantErr(t, db.Sync(), stoat.ErrPoisoned)
	wantErr(t, db.Close(), stoat.ErrPoisoned)
	wantImage(t, dir, before)
	wantOnly(t, old, "a")
	wantOnly(t, dir)
}

func TestOpen_ofNoNameMakesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, opts := range []*stoat.Options{nil, {ReadOnly: true}} {
		if _, err := stoat.Open("", opts); err == nil || !strings.Contains(err.Error(), "named") {
			t.Errorf("the error is %v", err)
		}
	}
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
	if err := db.Backup(context.Background(), ""); err == nil {
		t.Error("a backup is made without a name")
	}
	equal(t, len(image(t, ".")), 0)
}
