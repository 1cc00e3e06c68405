package folderstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// A store on a disk that is not mounted any more says nothing of its objects: who asks whether
// another one has written would be told that nobody has.
func TestStore_thatIsGoneIsNotEmpty(t *testing.T) {
	home := t.TempDir()
	folder, aside := filepath.Join(home, "mount", "store"), filepath.Join(home, "aside")
	s, err := Open(folder)
	check(t, err)
	check(t, s.Create(t.Context(), "log/1", []byte("x")))
	for _, gone := range []string{folder, filepath.Dir(folder)} {
		check(t, os.Rename(gone, aside))
		if gone == folder {
			check(t, os.Mkdir(folder, 0o700)) // as of a disk that was mounted there
		}
		if _, err := s.Get(t.Context(), "log/1", 0, -1); err == nil || isAbsence(err) {
			t.Errorf("Get: %v", err)
		}
		if listed, err := s.List(t.Context(), "", "", 10); err == nil || isAbsence(err) {
			t.Errorf("List: %v, %v", listed, err)
		}
		if err := s.Delete(t.Context(), []string{"log/1"}); err == nil {
			t.Error("Delete has deleted")
		}
		err := s.Create(t.Context(), "data/2", nil)
		if err == nil || errors.Is(err, objstore.ErrExists) || errors.Is(err, objstore.ErrUnknown) {
			t.Errorf("Create: %v", err)
		}
		if gone == folder {
			check(t, os.Remove(folder)) // which is empty
		}
		check(t, os.Rename(aside, gone))
		_, err = s.Get(t.Context(), "log/1", 0, -1)
		check(t, err)
	}
	check(t, s.Create(t.Context(), "data/2", nil))
}

func isAbsence(err error) bool {
	return errors.Is(err, objstore.ErrNotExist) || errors.Is(err, fs.ErrNotExist)
}

func TestStore_makesFoldersAgainThatWereRemoved(t *testing.T) {
	folder := t.TempDir()
	s, err := Open(folder)
	check(t, err)
	check(t, s.Create(t.Context(), "data/7f/1", nil))
	check(t, s.Delete(t.Context(), []string{"data/7f/1"}))
	check(t, os.RemoveAll(filepath.Join(folder, "data")))
	check(t, s.Create(t.Context(), "data/7f/2", nil))
}

// A disk that is full or mounted read-only can be read, or else nobody could restore what it has.
func TestOpen_readsWhatCannotBeWritten(t *testing.T) {
	for _, isCopy := range []bool{false, true} { // without the folder of temporary files
		disk := memfs.New()
		if isCopy {
			check(t, disk.MkdirAll("store"))
		} else {
			check(t, opened(t, disk, "store").Create(t.Context(), "a", []byte("x")))
		}
		refused := error(&fs.PathError{Op: "open", Path: "store", Err: errors.New("read-only")})
		files := faultfs.New(disk, func(op faultfs.Op) error {
			if op.Kind.Mutates() {
				return refused
			}
			return nil
		})
		s := opened(t, files, "store")
		if got, err := s.Get(t.Context(), "a", 0, -1); string(got) != "x" && !isCopy {
			t.Errorf("read %q: %v", got, err)
		}
		_, err := s.Get(t.Context(), "b", 0, -1)
		if !errors.Is(err, objstore.ErrNotExist) {
			t.Errorf("of what is not there: %v", err)
		}
		err = s.Create(t.Context(), "b", nil)
		if !errors.Is(err, refused) || errors.Is(err, objstore.ErrUnknown) {
			t.Errorf("Create: %v", err)
		}
		refused = nil
		check(t, s.Create(t.Context(), "b", nil))
	}
}
