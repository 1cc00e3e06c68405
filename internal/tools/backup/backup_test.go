package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// write makes a file in the place of one that there may be.
func write(t testing.TB, files vfs.FS, name, content string) {
	t.Helper()
	_ = files.Remove(name) // it may be new
	file, err := files.Create(name)
	ok(t, err)
	_, err = file.WriteAt([]byte(content), 0)
	ok(t, err)
	ok(t, errors.Join(file.Sync(), file.Close()))
}

// read returns what a file holds.
func read(t testing.TB, files vfs.FS, name string) string {
	t.Helper()
	file, err := files.Open(name)
	ok(t, err)
	defer file.Close()
	size, err := file.Size()
	ok(t, err)
	p := make([]byte, size)
	if n, err := file.ReadAt(p, 0); n < len(p) {
		t.Fatal(err)
	}
	return string(p)
}

// wantFiles wants the backup to have these files besides the lock and the copies of manifests.
func wantFiles(t testing.TB, files vfs.FS, want ...string) {
	t.Helper()
	got, err := files.List("backup")
	ok(t, err)
	got = slices.DeleteFunc(got, func(name string) bool {
		original, isCopy := strings.CutSuffix(name, ".copy")
		return name == folder.LockName || isCopy && slices.Contains(want, original)
	})
	if !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
}

// openFolder returns an open folder.
func openFolder(t testing.TB, files vfs.FS, dir string) vfs.Folder {
	t.Helper()
	f, err := files.OpenFolder(dir)
	ok(t, err)
	return f
}

// newSource returns a source of a table for each number, and of the first ten bytes of a segment
// of the log, which has twenty, and the number before the first.
func newSource(t testing.TB, numbers ...uint64) (s Source, disk *memfs.FS) {
	t.Helper()
	disk = memfs.New()
	ok(t, disk.MkdirAll("db"))
	log := numbers[0] - 1
	v := &manifest.Version{NextNumber: numbers[len(numbers)-1] + 1, LastCommit: 7, LogNumber: log + 1}
	v.ValueFiles = []manifest.ValueFile{{Number: log, Size: 10, Log: true}}
	for i, number := range numbers {
		key := []byte{byte(i)}
		v.Bottom.Tables = append(v.Bottom.Tables, &manifest.Table{
			Number: number, Size: 5, Entries: 1, Smallest: key, Largest: key,
			Values: []manifest.ValueShare{{File: log, Count: 1, Bytes: 1}},
		})
		write(t, disk, "db/"+itemsOf(v)[i].name(), "table")
	}
	items := itemsOf(v)
	write(t, disk, "db/"+items[len(items)-1].name(), strings.Repeat("log.", 5))
	return Source{Folder: openFolder(t, disk, "db"), Dir: "db", Version: v, LastCommit: 7}, disk
}

// make makes a backup and returns what was done for it.
func (s Source) make(t testing.TB, target vfs.FS, link bool) (done *Meter, err error) {
	t.Helper()
	done = new(Meter)
	f, err := Begin(target, "backup", s, done)
	if err != nil {
		return done, err
	}
	if err = f.Copy(context.Background(), link); err == nil {
		err = f.Commit(s.Version)
	}
	if err == nil {
		err = f.Tidy()
	}
	return done, errors.Join(err, f.Close())
}

// wantDone wants a backup to have copied and kept so many files.
func wantDone(t testing.TB, done *Meter, files, kept uint64) {
	t.Helper()
	if done.Files.Load() != files || done.Kept.Load() != kept {
		t.Errorf("%d files copied and %d kept, want %d and %d",
			done.Files.Load(), done.Kept.Load(), files, kept)
	}
}

func TestCopy_takesWhatIsNew(t *testing.T) {
	target := memfs.New()
	first, _ := newSource(t, 3, 5)
	done, err := first.make(t, target, false)
	ok(t, err)
	wantDone(t, done, 3, 0)
	wantFiles(t, target, "000002.log", "000003.table", "000005.table", "MANIFEST-000006")
	if got := read(t, target, "backup/000002.log"); got != "log.log.lo" {
		t.Errorf("of the log there is %q", got)
	}
	second, _ := newSource(t, 3, 5, 8)
	done, err = second.make(t, target, false)
	ok(t, err)
	wantDone(t, done, 1, 3)
	third, _ := newSource(t, 8, 9)
	done, err = third.make(t, target, false)
	ok(t, err)
	wantDone(t, done, 2, 1)
	state, err := manifest.Load(target, "backup")
	ok(t, err)
	wantFiles(t, target, "000007.log", "000008.table", "000009.table",
		folder.Manifest.Name(state.Number))
	if state.Version.LogNumber <= 7 {
		t.Errorf("segments from %d on are replayed", state.Version.LogNumber)
	}
}

// TestCopy_leavesTheEarlierBackupItsLog wants a log segment that is copied not to be replayed when
// the earlier backup is opened.
func TestCopy_leavesTheEarlierBackupItsLog(t *testing.T) {
	target := memfs.New()
	first, _ := newSource(t, 3)
	_, err := first.make(t, target, false)
	ok(t, err)
	second, disk := newSource(t, 3, 90)
	second.Version.ValueFiles = append(second.Version.ValueFiles,
		manifest.ValueFile{Number: 80, Size: 4, Log: true})
	write(t, disk, "db/000080.log", "log.")
	f, err := Begin(target, "backup", second, new(Meter))
	ok(t, err)
	ok(t, f.Copy(t.Context(), false))
	state, err := manifest.Load(target, "backup")
	ok(t, err)
	if state.Version.LogNumber <= 80 || len(itemsOf(state.Version)) != 2 {
		t.Errorf("meanwhile the earlier backup is %+v", state.Version)
	}
	ok(t, f.Close())
	wantFiles(t, target, "000002.log", "000003.table", "MANIFEST-000004",
		folder.Manifest.Name(state.Number))
}

func TestCopy_replacesWhatACrashHasLeft(t *testing.T) {
	target := memfs.New()
	ok(t, target.MkdirAll("backup"))
	for _, name := range []string{
		folder.UnfinishedName, "000003.table", "000004.table", "000009.log", "MANIFEST-000004.copy",
	} {
		write(t, target, "backup/"+name, "")
	}
	s, _ := newSource(t, 3)
	_, err := s.make(t, target, false)
	ok(t, err)
	wantFiles(t, target, "000002.log", "000003.table", "MANIFEST-000010")
}

func TestCopy_linksWhereItCan(t *testing.T) {
	s, disk := newSource(t, 3)
	_, err := s.make(t, disk, true)
	ok(t, err)
	db, backup := openFolder(t, disk, "db"), openFolder(t, disk, "backup")
	if !db.Same("db/000003.table", backup, "backup/000003.table") {
		t.Error("the table is a copy")
	}
	if db.Same("db/000002.log", backup, "backup/000002.log") {
		t.Error("the log is a link")
	}
	another := memfs.New()
	_, err = s.make(t, another, true)
	ok(t, err)
	s, disk = newSource(t, 3)
	unlinked := faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind == faultfs.Link {
			return errors.ErrUnsupported
		}
		return nil
	})
	s.Folder = openFolder(t, unlinked, "db")
	_, err = s.make(t, unlinked, true)
	ok(t, err)
	for _, target := range []vfs.FS{another, disk} {
		if got := read(t, target, "backup/000003.table"); got != "table" {
			t.Errorf("the copy holds %q", got)
		}
	}
}

// TestCopy_outlivesFilesThatVanish removes the files of the source as soon as the first is copied.
func TestCopy_outlivesFilesThatVanish(t *testing.T) {
	for _, hold := range []bool{true, false} {
		s, disk := newSource(t, 3, 5)
		s.MayVanish = hold
		target := faultfs.New(memfs.New(), func(op faultfs.Op) error {
			if op.Kind == faultfs.Create && strings.HasSuffix(op.Name, ".table") {
				for _, i := range itemsOf(s.Version) {
					_ = disk.Remove("db/" + i.name()) // it may be gone
				}
			}
			return nil
		})
		_, err := s.make(t, target, false)
		if hold {
			ok(t, err)
			wantFiles(t, target, "000002.log", "000003.table", "000005.table", "MANIFEST-000006")
		} else {
			wantErr(t, err, fs.ErrNotExist)
			wantFiles(t, target)
		}
	}
}

func TestCommit_goesOnWithoutACopyOfTheManifest(t *testing.T) {
	s, _ := newSource(t, 3)
	broken := errors.New("broken")
	target := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind == faultfs.Create && strings.HasSuffix(op.Name, ".copy") {
			return broken
		}
		return nil
	})
	f, err := Begin(target, "backup", s, new(Meter))
	ok(t, err)
	ok(t, f.Copy(t.Context(), false))
	ok(t, f.Commit(s.Version))
	wantErr(t, f.CopyFailure(), broken)
	ok(t, f.Close())
	_, err = manifest.Load(target, "backup")
	ok(t, err)
}

func TestCopy_noticesATornSource(t *testing.T) {
	s, disk := newSource(t, 3)
	write(t, disk, "db/000003.table", "tab")
	target := memfs.New()
	_, err := s.make(t, target, false)
	wantErr(t, err, corrupt.Err)
	wantFiles(t, target)
}

// failingSync returns a file system that cannot sync files with the given part in their names.
func failingSync(files vfs.FS, part string) *faultfs.FS {
	return faultfs.New(files, func(op faultfs.Op) error {
		if op.Kind == faultfs.Sync && strings.Contains(op.Name, part) {
			return errors.New("broken")
		}
		return nil
	})
}

// wantBackup wants the folder to be a backup, with every file that it names.
func wantBackup(t testing.TB, target vfs.FS) {
	t.Helper()
	state, err := manifest.Load(target, "backup")
	ok(t, err)
	for _, i := range itemsOf(state.Version) {
		file, err := target.Open("backup/" + i.name())
		ok(t, err)
		ok(t, file.Close())
	}
}

// A killed process leaves a manifest that is not durable. Nothing that the durable one names may go
// before it is.
func TestClose_keepsTheBackupThatIsDurable(t *testing.T) {
	target := memfs.NewCrashable()
	first, _ := newSource(t, 3)
	_, err := first.make(t, target, false)
	ok(t, err)
	second, _ := newSource(t, 8)
	if _, err := second.make(t, failingSync(target, "MANIFEST-000010"), false); err == nil {
		t.Fatal("the backup did not fail")
	}
	next := target.Kill()
	third, disk := newSource(t, 8, 9)
	write(t, disk, "db/000009.table", "tab")
	_, err = third.make(t, next, false)
	wantErr(t, err, corrupt.Err)
	for seed := range uint64(32) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			wantBackup(t, next.Crash(rand.New(rand.NewPCG(seed, 0))))
		})
	}
	wantBackup(t, next.CrashKeepNone())
}

func TestCopy_makesTheMarkOfAnUnfinishedBackupDurable(t *testing.T) {
	target := memfs.NewCrashable()
	s, _ := newSource(t, 3)
	broken := faultfs.New(target, func(op faultfs.Op) error {
		if op.Kind == faultfs.SyncDir || op.Kind == faultfs.Remove {
			return errors.New("broken")
		}
		return nil
	})
	if _, err := s.make(t, broken, false); err == nil {
		t.Fatal("the backup did not fail")
	}
	next := target.Kill()
	f, err := Begin(next, "backup", s, new(Meter))
	ok(t, err)
	ok(t, f.Copy(t.Context(), false))
	for seed := range uint64(32) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			left := next.Crash(rand.New(rand.NewPCG(seed, 0)))
			_, err := s.make(t, left, false)
			ok(t, err)
			wantBackup(t, left)
		})
	}
	ok(t, f.Close())
}

func TestClose_leavesAFolderForAnotherFirstBackup(t *testing.T) {
	target := memfs.New()
	ok(t, target.MkdirAll("backup"))
	write(t, target, "backup/"+folder.UnfinishedName, "")
	write(t, target, "backup/MANIFEST-000004", strings.Repeat("STOATMAN", 20))
	s, disk := newSource(t, 3)
	write(t, disk, "db/000003.table", "tab")
	_, err := s.make(t, target, false)
	wantErr(t, err, corrupt.Err)
	write(t, disk, "db/000003.table", "table")
	_, err = s.make(t, target, false)
	ok(t, err)
}
