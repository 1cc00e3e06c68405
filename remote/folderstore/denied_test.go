package folderstore

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// refusing returns a store with log/1, over a disk that refuses some operations from then on.
func refusing(t *testing.T, refused func(faultfs.Op) bool, why error) *Store {
	var closed atomic.Bool
	s, err := open(faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if closed.Load() && refused(op) {
			return why
		}
		return nil
	}), "store")
	check(t, err)
	check(t, s.Create(t.Context(), "log/1", []byte("x")))
	closed.Store(true)
	return s
}

// wantDenied wants errors that say that something is not permitted, and what to do with the folder.
func wantDenied(t *testing.T, advice string, requests map[string]error) {
	t.Helper()
	for request, err := range requests {
		if !errors.Is(err, objstore.ErrDenied) || errors.Is(err, objstore.ErrUnknown) ||
			!strings.Contains(err.Error(), advice) {
			t.Errorf("%s ends with: %v; want %s", request, err, advice)
		}
	}
}

const thisUsers = "store and what is in it must be this user's"

// A folder of another user, or one that was made read-only.
func TestStore_tellsWhatIsNotPermitted(t *testing.T) {
	s := refusing(t, func(op faultfs.Op) bool { return op.Kind != faultfs.Close }, fs.ErrPermission)
	_, get := s.Get(t.Context(), "log/1", 0, -1)
	_, list := s.List(t.Context(), "log/", "", 1)
	wantDenied(t, thisUsers, map[string]error{
		"get": get, "list": list, "create": s.Create(t.Context(), "log/2", nil),
		"put":    s.Put(t.Context(), "data/1", strings.NewReader(""), 0),
		"delete": s.Delete(t.Context(), []string{"log/1"}),
	})
}

// Another user has made the folder of the log, so the temporary file is written, and not linked.
func TestStore_tellsThatALinkIsNotPermitted(t *testing.T) {
	s := refusing(t, func(op faultfs.Op) bool { return op.Kind == faultfs.Link }, fs.ErrPermission)
	wantDenied(t, thisUsers, map[string]error{"create": s.Create(t.Context(), "log/2", nil)})
}

// A disk that is mounted read-only, before the store is opened or later: whoever waits for it to
// change is told at once.
func TestStore_tellsThatADiskIsMountedReadOnly(t *testing.T) {
	s := refusing(t, func(op faultfs.Op) bool { return op.Kind.Mutates() }, vfs.ErrUnwritable)
	reopened, err := open(s.files, "store")
	check(t, err)
	for _, s := range []*Store{s, reopened} {
		wantDenied(t, "mount the file system of store for writing", map[string]error{
			"create": s.Create(t.Context(), "log/2", nil),
			"put":    s.Put(t.Context(), "data/1", strings.NewReader(""), 0),
			"delete": s.Delete(t.Context(), []string{"log/1"}),
		})
		if got, err := s.Get(t.Context(), "log/1", 0, -1); string(got) != "x" {
			t.Errorf("read %q: %v", got, err)
		}
	}
	_, err = open(s.files, "other")
	wantDenied(t, "mount the file system of other for writing", map[string]error{"open": err})
}

// lingering is a disk as Windows has some: a file that is removed while somebody reads it keeps its
// name for as long, and is not permitted to anyone.
type lingering struct {
	vfs.FS
	reading time.Duration // from the removal on
	removed map[string]time.Time
}

func (l *lingering) denied(name string) error {
	if since, ok := l.removed[name]; ok && time.Since(since) < l.reading {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return nil
}

// Open implements [vfs.FS].
func (l *lingering) Open(name string) (vfs.File, error) {
	if err := l.denied(name); err != nil {
		return nil, err
	}
	return l.FS.Open(name)
}

// IsRegular implements [vfs.FS].
func (l *lingering) IsRegular(name string) (bool, error) {
	if err := l.denied(name); err != nil {
		return false, err
	}
	return l.FS.IsRegular(name)
}

// List implements [vfs.FS].
func (l *lingering) List(dir string) ([]string, error) {
	names, err := l.FS.List(dir)
	for name := range l.removed {
		if filepath.Dir(name) == filepath.Clean(dir) && l.denied(name) != nil {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, err
}

// Remove implements [vfs.FS].
func (l *lingering) Remove(name string) error {
	if err := l.denied(name); err != nil {
		return err
	}
	l.removed[name] = time.Now()
	return l.FS.Remove(name)
}

// OpenFolder implements [vfs.FS].
func (l *lingering) OpenFolder(dir string) (vfs.Folder, error) {
	f, err := l.FS.OpenFolder(dir)
	return &lingeringFolder{f, l}, err
}

type lingeringFolder struct {
	vfs.Folder
	disk *lingering
}

// Link implements [vfs.Folder].
func (f *lingeringFolder) Link(name string, to vfs.Folder, as string) error {
	if err := f.disk.denied(as); err != nil {
		return err
	}
	return f.Folder.Link(name, to.(*lingeringFolder).Folder, as)
}

// Same implements [vfs.Folder].
func (f *lingeringFolder) Same(name string, other vfs.Folder, as string) bool {
	return f.Folder.Same(name, other.(*lingeringFolder).Folder, as)
}

// A collection removes an object that a reader has open: for others it does not exist, or else a
// database would not open, since nobody waits until something is permitted.
func TestStore_waitsForWhatLingers(t *testing.T) {
	for _, reading := range []time.Duration{100 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			disk := &lingering{memfs.New(), reading, map[string]time.Time{}}
			s := opened(t, disk, "store")
			s.lingers = true
			for _, name := range []string{"log/1", "log/2", "log/3", "log/4"} {
				check(t, s.Create(t.Context(), name, []byte("x")))
			}
			began := time.Now()
			remove := func(name string) { check(t, disk.Remove(s.path(name))) }
			remove("log/1")
			_, get := s.Get(t.Context(), "log/1", 0, -1)
			remove("log/2")
			listed, list := s.List(t.Context(), "log/", "", 9)
			remove("log/3")
			deleted := s.Delete(t.Context(), []string{"log/3"})
			remove("log/4")
			created := s.Create(t.Context(), "log/4", []byte("y"))
			if reading > time.Minute {
				wantDenied(t, thisUsers, map[string]error{
					"get": get, "list": list, "delete": deleted, "create": created,
				})
				if took := time.Since(began); took > time.Second {
					t.Errorf("four requests have waited for %v", took)
				}
				return
			}
			if !errors.Is(get, objstore.ErrNotExist) {
				t.Errorf("get ends with %v", get)
			}
			if check(t, errors.Join(list, deleted, created)); len(listed) != 2 || listed[0].Name != "log/3" {
				t.Errorf("listed are %v", listed)
			}
		})
	}
}
