package torture

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// write creates or replaces a file.
func write(t testing.TB, disk vfs.FS, name, content string) {
	t.Helper()
	_ = disk.Remove(name) // it may be new
	f, err := disk.Create(name)
	ok(t, err)
	_, err = f.WriteAt([]byte(content), 0)
	ok(t, err)
	ok(t, errors.Join(f.Sync(), f.Close()))
}

// filesOf returns the contents of the files in the folder "db", except the lock.
func filesOf(t testing.TB, disk vfs.FS) map[string]string {
	t.Helper()
	names, err := disk.List("db")
	ok(t, err)
	all := map[string]string{}
	for _, name := range names {
		f, err := disk.Open("db/" + name)
		ok(t, err)
		size, err := f.Size()
		ok(t, err)
		p := make([]byte, size)
		if n, err := f.ReadAt(p, 0); n < len(p) {
			t.Fatal(err)
		}
		ok(t, f.Close())
		all[name] = string(p)
	}
	delete(all, "LOCK")
	return all
}

// wantUnchanged checks that the folder "db" has not changed.
func wantUnchanged(t testing.TB, disk, was vfs.FS) {
	t.Helper()
	if !maps.Equal(filesOf(t, disk), filesOf(t, was)) {
		t.Errorf("the folder has changed")
	}
}

// wantsBackup returns a database with a few tables and values, its disk, and a disk with its
// backup.
func wantsBackup(t testing.TB) (db *stoat.DB, disk, target *memfs.FS) {
	t.Helper()
	disk, target = memfs.New(), memfs.New()
	s := newBackupSteps(t, disk)
	ok(t, s.change("first"))
	ok(t, s.backup("first", target))
	t.Cleanup(func() { ok(t, s.r.db.Close()) })
	return s.r.db, disk, target
}

// refusal is a folder that a backup must refuse.
type refusal struct {
	name   string
	advice string // part of the error
	kind   error  // the error must match it, unless nil
	make   func(t *testing.T, to *memfs.FS)
}

// refusals returns the folders that a backup of db must refuse.
func refusals(db *stoat.DB, disk *memfs.FS) []refusal {
	backup := func(t *testing.T, db *stoat.DB, to *memfs.FS) {
		t.Helper()
		ok(t, tuned.Backup(context.Background(), db, to, "db", false))
	}
	return []refusal{
		{"another database", "another database", nil, func(t *testing.T, to *memfs.FS) {
			other, _, _ := wantsBackup(t)
			backup(t, other, to)
		}},
		{"somebody's files", "report.txt", stoat.ErrFormat, func(t *testing.T, to *memfs.FS) {
			ok(t, to.MkdirAll("db"))
			write(t, to, "db/report.txt", "mine")
		}},
		{"a lost manifest", "no manifest", stoat.ErrCorrupt, func(t *testing.T, to *memfs.FS) {
			ok(t, to.MkdirAll("db"))
			write(t, to, "db/000012.table", "data")
		}},
		{"a backup that was written to", "written to", nil, func(t *testing.T, to *memfs.FS) {
			backup(t, db, to)
			changed := openOn(t, to, nil)
			ok(t, changed.Put([]byte("k"), nil))
			ok(t, changed.Close())
		}},
		{"a backup in which a writer crashed", "written to", nil, func(t *testing.T, to *memfs.FS) {
			backup(t, db, to)
			live := to.CrashKeepAll()
			changed := openOn(t, live, nil)
			ok(t, changed.Put([]byte("k"), nil))
			for name, content := range filesOf(t, live) {
				write(t, to, "db/"+name, content)
			}
			ok(t, changed.Close())
		}},
		{"a newer backup", "older", nil, func(t *testing.T, to *memfs.FS) {
			fork := openOn(t, disk.CrashKeepAll(), nil)
			ok(t, fork.Put([]byte("k"), nil))
			backup(t, fork, to)
			ok(t, fork.Close())
		}},
		{"a backup of a restored one", "branches", nil, func(t *testing.T, to *memfs.FS) {
			between := memfs.New()
			backup(t, db, between)
			restored := openOn(t, between, nil)
			ok(t, restored.Put([]byte("k"), nil))
			backup(t, restored, to)
			ok(t, restored.Close())
		}},
		{"a damaged backup", "the backup is damaged", stoat.ErrCorrupt, func(t *testing.T, to *memfs.FS) {
			backup(t, db, to)
			for name := range filesOf(t, to) {
				if strings.HasSuffix(name, ".table") {
					flip(t, to, "db/"+name, 3)
				}
			}
		}},
	}
}

func TestBackup_leavesOtherFoldersAlone(t *testing.T) {
	db, disk, _ := wantsBackup(t)
	for _, c := range refusals(db, disk) {
		t.Run(c.name, func(t *testing.T) {
			to := memfs.New()
			c.make(t, to)
			was := to.CrashKeepAll()
			err := tuned.Backup(context.Background(), db, to, "db", false)
			if err == nil || !strings.Contains(err.Error(), c.advice) ||
				!strings.Contains(err.Error(), "choose") {
				t.Errorf("error %v, want %q and what to choose", err, c.advice)
			}
			if c.kind != nil {
				wantErr(t, err, c.kind)
			}
			wantUnchanged(t, to, was)
		})
	}
}

func TestBackup_staysOutOfTheDatabase(t *testing.T) {
	db, disk, _ := wantsBackup(t)
	for _, dir := range []string{"db", "db/", "db/within", "db/a/b"} {
		err := tuned.Backup(context.Background(), db, disk, dir, false)
		if err == nil || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("a backup to %s: %v", dir, err)
		}
	}
}

func TestBackup_waitsForNoOther(t *testing.T) {
	db, _, backup := wantsBackup(t)
	to := backup.CrashKeepAll()
	lock, err := to.Lock("db/LOCK")
	ok(t, err)
	wantErr(t, tuned.Backup(context.Background(), db, to, "db", false), stoat.ErrLocked)
	wantUnchanged(t, to, backup)
	ok(t, lock.Close())
	ok(t, tuned.Backup(context.Background(), db, to, "db", false))
}
