package folderstore

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

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
