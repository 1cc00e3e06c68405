package folderstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t testing.TB, files vfs.FS, folder string) *Store {
	t.Helper()
	s, err := open(files, folder)
	check(t, err)
	return s
}

func TestStore_conforms(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) objstore.Store {
		return opened(t, memfs.New(), "store")
	})
}

func TestStore_conformsOnTheSystemsFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("syncs thousands of files")
	}
	remotetest.Run(t, func(t *testing.T) objstore.Store {
		s, err := Open(filepath.Join(t.TempDir(), "a", "store"))
		check(t, err)
		return s
	})
}

func TestStore_passesTheProbe(t *testing.T) {
	s, err := Open(t.TempDir())
	check(t, err)
	check(t, objstore.Probe(t.Context(), s))
}

func TestStore_keepsObjectsAsFiles(t *testing.T) {
	folder := t.TempDir()
	s, err := Open(folder)
	check(t, err)
	check(t, s.Create(t.Context(), "data/7f/1.table", []byte("bytes")))
	got, err := os.ReadFile(filepath.Join(folder, "data", "7f", "1.table"))
	if err != nil || string(got) != "bytes" {
		t.Errorf("the file holds %q: %v", got, err)
	}
	check(t, os.WriteFile(filepath.Join(folder, "data", "copied"), []byte("by hand"), 0o600))
	got, err = s.Get(t.Context(), "data/copied", 0, -1)
	if err != nil || string(got) != "by hand" {
		t.Errorf("the object holds %q: %v", got, err)
	}
}

func TestStore_leavesNoTemporaryFiles(t *testing.T) {
	disk := memfs.New()
	s := opened(t, disk, "store")
	check(t, s.Create(t.Context(), "a", []byte("x")))
	_ = s.Create(t.Context(), "a", []byte("y"))
	check(t, s.Put(t.Context(), "b", strings.NewReader("z"), 1))
	_ = s.Put(t.Context(), "c", strings.NewReader("z"), 2)
	left, err := disk.List(filepath.Join("store", unfinished))
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q: %v", left, err)
	}
}

func TestStore_ignoresOtherFiles(t *testing.T) {
	folder := t.TempDir()
	s, err := Open(folder)
	check(t, err)
	check(t, s.Create(t.Context(), "a/b", nil))
	check(t, os.WriteFile(filepath.Join(folder, "README"), nil, 0o600))
	check(t, os.WriteFile(filepath.Join(folder, "a", ".nfs0001"), nil, 0o600))
	check(t, os.Mkdir(filepath.Join(folder, "empty"), 0o700))
	listed, err := s.List(t.Context(), "", "", 10)
	if err != nil || len(listed) != 1 || listed[0].Name != "a/b" {
		t.Errorf("listed are %v: %v", listed, err)
	}
}

func TestStore_refusesANameThatIsAFolder(t *testing.T) {
	s := opened(t, memfs.New(), "store")
	check(t, s.Create(t.Context(), "a/b", nil))
	for _, name := range []string{"a", "a/b/c"} {
		err := s.Create(t.Context(), name, nil)
		if err == nil || errors.Is(err, objstore.ErrExists) || errors.Is(err, objstore.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpen_refusesWhatIsNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for _, folder := range []string{"", file, filepath.Join(file, "store")} {
		if _, err := Open(folder); err == nil {
			t.Errorf("opened %q", folder)
		}
	}
}

// Over NFS, the answer of a link that was made can be lost, and the client's second try fails.
func TestCreate_recognisesItsLinkAfterALostAnswer(t *testing.T) {
	disk := memfs.New()
	s := opened(t, &lostLinks{disk}, "store")
	check(t, s.Create(t.Context(), "a", []byte("ours")))
	err := s.Create(t.Context(), "a", []byte("again"))
	if !errors.Is(err, objstore.ErrExists) {
		t.Errorf("the second Create: %v", err)
	}
}

// lostLinks is a file system whose links are made, and fail.
type lostLinks struct{ vfs.FS }

func (l *lostLinks) OpenFolder(dir string) (vfs.Folder, error) {
	f, err := l.FS.OpenFolder(dir)
	return &lostFolder{f}, err
}

type lostFolder struct{ vfs.Folder }

func (f *lostFolder) Link(name string, to vfs.Folder, as string) error {
	inner := to.(*lostFolder).Folder
	if err := f.Folder.Link(name, inner, as); err != nil {
		return err
	}
	return f.Folder.Link(name, inner, as)
}

func (f *lostFolder) Same(name string, other vfs.Folder, as string) bool {
	return f.Folder.Same(name, other.(*lostFolder).Folder, as)
}

var errFault = errors.New("planned fault")

// Whatever operation of the file system fails, the error of Create is true.
func TestCreate_tellsTheTruthAfterAFault(t *testing.T) {
	for n := int64(0); ; n++ {
		disk := memfs.New()
		check(t, opened(t, disk, "store").Create(t.Context(), "log/1", []byte("first")))
		faulty := faultfs.New(disk, faultfs.FailAt(n, errFault))
		s, err := open(faulty, "store")
		if err != nil {
			continue
		}
		err = s.Create(t.Context(), "log/2", []byte("second"))
		taken := s.Create(t.Context(), "log/1", []byte("other"))
		if faulty.Count() <= n {
			check(t, err)
			return
		}
		got, readErr := opened(t, disk, "store").Get(t.Context(), "log/2", 0, -1)
		stored := readErr == nil
		if stored && string(got) != "second" {
			t.Errorf("operation %d: the object holds %q", n, got)
		}
		if err == nil != stored && !errors.Is(err, objstore.ErrUnknown) {
			t.Errorf("operation %d: stored %t, and the error is %v", n, stored, err)
		}
		if taken == nil {
			t.Errorf("operation %d: a taken name was created", n)
		}
	}
}

// linkless is a file system without links, such as FAT.
type linkless struct{ vfs.FS }

func (l linkless) OpenFolder(dir string) (vfs.Folder, error) {
	f, err := l.FS.OpenFolder(dir)
	return linklessFolder{f}, err
}

type linklessFolder struct{ vfs.Folder }

func (linklessFolder) Link(string, vfs.Folder, string) error { return fs.ErrPermission }

func (linklessFolder) Same(string, vfs.Folder, string) bool { return false }

func TestOpen_refusesAFileSystemWithoutLinks(t *testing.T) {
	disk := memfs.New()
	_, err := open(linkless{disk}, "store")
	if !errors.Is(err, objstore.ErrUnfit) {
		t.Error(err)
	}
	left, err := disk.List(filepath.Join("store", unfinished))
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q: %v", left, err)
	}
}

func TestStores_ofOneFolderAreOne(t *testing.T) {
	folder := t.TempDir()
	var wins atomic.Int64
	for round := range 5 {
		name := fmt.Sprintf("log/%d", round) // whose folder the first round makes
		wins.Store(0)
		start := make(chan struct{})
		var all sync.WaitGroup
		for range 16 {
			s, err := Open(folder) // as each process does
			check(t, err)
			all.Go(func() {
				<-start
				switch err := s.Create(t.Context(), name, []byte("x")); {
				case err == nil:
					wins.Add(1)
				case !errors.Is(err, objstore.ErrExists):
					t.Error(err)
				}
			})
		}
		close(start)
		all.Wait()
		if wins.Load() != 1 {
			t.Errorf("%d stores have created %s", wins.Load(), name)
		}
	}
}
