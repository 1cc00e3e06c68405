package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// renaming runs a test on the file systems where an open folder can be renamed, with a function
// that does it.
func renaming(
	t *testing.T, test func(t *testing.T, s system, rename func(from, to string) error),
) {
	t.Run("memory", func(t *testing.T) {
		disk := memfs.NewCrashable()
		s := system{disk, "dir"}
		ok(t, s.MkdirAll(s.dir))
		test(t, s, disk.Rename)
	})
	t.Run("OS", func(t *testing.T) {
		if runtime.GOOS == "windows" || runtime.GOOS == "js" {
			t.Skip("an open folder has no other name here, or is reached by its path")
		}
		test(t, system{vfs.OS(), t.TempDir()}, os.Rename)
	})
}

func TestFolder_reachesItsFilesByAnyName(t *testing.T) {
	renaming(t, func(t *testing.T, s system, rename func(from, to string) error) {
		ok(t, s.MkdirAll(s.path("db")))
		ok(t, create(t, s, "db/old", "old").Close())
		ok(t, create(t, s, "db/gone", "").Close())
		folder := s.open(t, "db")
		ok(t, rename(s.path("db"), s.path("moved")))
		ok(t, s.MkdirAll(s.path("db")))
		ok(t, create(t, s, "db/old", "another").Close())
		ok(t, create(t, s, "db/gone", "another").Close())

		f, err := folder.Open(s.path("db", "old"))
		ok(t, err)
		defer f.Close()
		wantContent(t, f, "old")
		made, err := folder.Create(s.path("db", "new"))
		ok(t, err)
		defer made.Close()
		ok(t, folder.Remove(s.path("db", "gone")))
		ok(t, folder.SyncDir(s.path("db")))
		lock, err := folder.Lock(s.path("db", "old"))
		ok(t, err)
		defer lock.Close()
		ok(t, errors.Join(f.Named(), made.Named(), lock.Named()))
		wantList(t, s, s.path("db"), "gone", "old")
		wantList(t, s, s.path("moved"), "new", "old")
		names, err := folder.List(s.path("db"))
		ok(t, err)
		if len(names) != 2 || names[0] != "new" {
			t.Errorf("the folder lists %q", names)
		}
		_, err = s.Lock(s.path("moved", "old"))
		wantErr(t, err, vfs.ErrLocked)
		other, err := s.Lock(s.path("db", "old"))
		ok(t, err)
		ok(t, other.Close())
	})
}

func TestFolder_hasNoOtherFiles(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		ok(t, create(t, s, "file", "").Close())
		ok(t, s.MkdirAll(s.path("a")))
		folder := s.open(t, "a")
		for _, name := range []string{s.path("file"), s.path("a", "b", "file"), "file"} {
			_, err := folder.Open(name)
			wantErr(t, err, fs.ErrInvalid)
			_, err = folder.Create(name)
			wantErr(t, err, fs.ErrInvalid)
			wantErr(t, folder.Remove(name), fs.ErrInvalid)
			_, err = folder.Lock(name)
			wantErr(t, err, fs.ErrInvalid)
		}
		wantErr(t, folder.SyncDir(s.dir), fs.ErrInvalid)
		_, err := folder.List(s.dir)
		wantErr(t, err, fs.ErrInvalid)
		_, err = s.OpenFolder(s.path("none"))
		wantErr(t, err, fs.ErrNotExist)
		_, err = s.OpenFolder("")
		wantErr(t, err, fs.ErrInvalid)
	})
}

func TestFolder_leavesOpenFilesWhenItIsClosed(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		folder := s.open(t)
		f, err := folder.Create(s.path("file"))
		ok(t, err)
		defer f.Close()
		ok(t, folder.Close())
		write(t, f, "content", 0)
		ok(t, f.Sync())
		wantContent(t, f, "content")
		wantErr(t, folder.Close(), fs.ErrClosed)
	})
}

func TestFolder_canBeClosedWhileItIsListed(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f, err := s.Create(s.path("file"))
		ok(t, errors.Join(err, f.Close()))
		for range 100 {
			folder := s.open(t)
			var listing sync.WaitGroup
			for range 2 {
				listing.Go(func() {
					for {
						names, err := folder.List(s.dir)
						if errors.Is(err, fs.ErrClosed) {
							return
						}
						if err != nil || !slices.Equal(names, []string{"file"}) {
							t.Errorf("listed are %q: %v", names, err)
							return
						}
					}
				})
			}
			runtime.Gosched()
			ok(t, folder.Close())
			listing.Wait()
		}
	})
}

func TestFolderNamed_tellsWhereThePathLeads(t *testing.T) {
	renaming(t, func(t *testing.T, s system, rename func(from, to string) error) {
		ok(t, s.MkdirAll(s.path("db")))
		folder := s.open(t, "db")
		ok(t, folder.Named())
		if again := s.open(t, "db"); !folder.Is(again) || folder.Is(s.open(t)) {
			t.Error("the folder is not itself, or another one")
		}
		ok(t, rename(s.path("db"), s.path("moved")))
		wantErr(t, folder.Named(), fs.ErrNotExist)
		ok(t, s.MkdirAll(s.path("db")))
		wantErr(t, folder.Named(), vfs.ErrReplaced)
		ok(t, rename(s.path("db"), s.path("away")))
		create(t, s, "db", "a file")
		wantErr(t, folder.Named(), vfs.ErrReplaced)
		ok(t, s.Remove(s.path("db")))
		ok(t, rename(s.path("moved"), s.path("db")))
		ok(t, folder.Named())
	})
}

func TestFileNamed_tellsWhetherTheNameStandsForIt(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		folder := s.open(t)
		ok(t, create(t, s, "LOCK", "").Close())
		lock, err := folder.Lock(s.path("LOCK"))
		ok(t, err)
		defer lock.Close()
		f, err := folder.Create(s.path("file"))
		ok(t, err)
		defer f.Close()
		r, err := s.FS.Open(s.path("file"))
		ok(t, err)
		defer r.Close()
		ok(t, errors.Join(f.Named(), r.Named(), lock.Named()))
		for _, name := range []string{"file", "LOCK"} {
			ok(t, s.Remove(s.path(name)))
		}
		for range 2 {
			wantErr(t, f.Named(), vfs.ErrReplaced)
			wantErr(t, r.Named(), vfs.ErrReplaced)
			wantErr(t, lock.Named(), vfs.ErrReplaced)
			wantErr(t, vfs.Owned(folder, lock), vfs.ErrReplaced)
			for _, name := range []string{"file", "LOCK"} {
				_ = s.Remove(s.path(name)) // in the first round they are new
				create(t, s, name, "")
			}
		}
	})
}

func TestOwned_allowsAnotherNameButNoOtherFolder(t *testing.T) {
	renaming(t, func(t *testing.T, s system, rename func(from, to string) error) {
		ok(t, s.MkdirAll(s.path("db")))
		ok(t, create(t, s, "db/LOCK", "").Close())
		folder := s.open(t, "db")
		lock, err := folder.Lock(s.path("db", "LOCK"))
		ok(t, err)
		defer lock.Close()
		ok(t, vfs.Owned(folder, lock))
		ok(t, rename(s.path("db"), s.path("moved")))
		ok(t, vfs.Owned(folder, lock))
		ok(t, s.MkdirAll(s.path("db")))
		wantErr(t, vfs.Owned(folder, lock), vfs.ErrReplaced)
	})
}

func TestOSFolder_staysWhereItIsWhenTheProcessMoves(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		ok(t, os.Mkdir(filepath.Join(dir, "db"), 0o700))
	}
	t.Chdir(first)
	folder := system{vfs.OS(), "db"}.open(t)
	lockFile := filepath.Join("db", "LOCK")
	f, err := folder.Create(lockFile)
	ok(t, err)
	ok(t, f.Close())
	lock, err := folder.Lock(lockFile)
	ok(t, err)
	t.Chdir(second)
	f, err = folder.Create(filepath.Join("db", "file"))
	ok(t, err)
	ok(t, errors.Join(f.Named(), f.Sync(), f.Close(), vfs.Owned(folder, lock), lock.Close()))
	s := system{vfs.OS(), first}
	wantList(t, s, filepath.Join(first, "db"), "LOCK", "file")
	wantList(t, s, filepath.Join(second, "db"))
}
