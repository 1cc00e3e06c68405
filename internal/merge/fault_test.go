package merge

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/faultfs"
)

// unmapped is a file system whose files cannot be mapped, so that they are read with ReadAt.
type unmapped struct{ vfs.FS }

type unmappedFile struct{ vfs.File }

func (u unmapped) Open(name string) (vfs.File, error) {
	f, err := u.FS.Open(name)
	return unmappedFile{f}, err
}

func (unmappedFile) Map(int64) ([]byte, func() error, error) { return nil, nil, vfs.ErrNoMap }

// mixture returns a store with inputs whose merge makes several tables.
func mixture(t testing.TB) *store {
	t.Helper()
	s := newStore(t)
	s.bottom(puts("old", keys(1, 30)...))
	s.young(puts("new", keys(20, 40)...))
	s.young(deletes(keys(5, 10)...))
	return s
}

func TestRun_leavesNoFileWhenAnOperationFails(t *testing.T) {
	for name, hook := range map[string]func(int64, error) faultfs.Hook{
		"failure": faultfs.FailAt, "short write": faultfs.ShortWriteAt,
	} {
		s := mixture(t)
		before := s.list()
		for n := int64(0); ; n++ {
			files := unmapped{faultfs.New(s.files, hook(n, errFault))}
			edit, err := s.with(files).job(2).Run()
			if err == nil {
				if n < 50 || len(edit.AddBottom) < 3 {
					t.Errorf("%s: only %d operations could fail, for %+v", name, n, edit)
				}
				break
			}
			if edit != nil || !errors.Is(err, errFault) || !strings.Contains(err.Error(), "table") {
				t.Errorf("%s of operation %d: Run returns %v, %v", name, n, edit, err)
			}
			if names := s.list(); !slices.Equal(names, before) {
				t.Fatalf("%s of operation %d: files %v are left of %v", name, n, names, before)
			}
		}
	}
}

func TestRun_failsWhereAMapFails(t *testing.T) {
	s := mixture(t)
	before := s.list()
	files := faultfs.New(s.files, func(op faultfs.Op) error {
		if op.Kind == faultfs.Map && strings.HasSuffix(op.Name, before[1]) {
			return errFault
		}
		return nil
	})
	if edit, err := s.with(files).job(2).Run(); edit != nil || !errors.Is(err, errFault) {
		t.Errorf("Run returns %v, %v", edit, err)
	}
	if names := s.list(); !slices.Equal(names, before) {
		t.Errorf("files %v are left of %v", names, before)
	}
}

func TestRun_leavesNoFileOnAFullDisk(t *testing.T) {
	s := mixture(t)
	before := s.list()
	for space := int64(0); ; space += 300 {
		files := faultfs.New(s.files, faultfs.NewQuota(space).Hook)
		_, err := s.with(files).job(2).Run()
		if err == nil {
			if space < 1500 {
				t.Errorf("everything fits into %d bytes", space)
			}
			return
		}
		if names := s.list(); !errors.Is(err, vfs.ErrNoSpace) || !slices.Equal(names, before) {
			t.Fatalf("with %d bytes: files %v are left of %v, the error is %v", space, names, before,
				err)
		}
	}
}

// A merge must not copy what it cannot verify.
func TestRun_stopsAtDamage(t *testing.T) {
	whole := mixture(t)
	for _, name := range whole.list() {
		path := filepath.Join(testDir, name)
		for at := int64(0); at < whole.size(path); at += 7 {
			s := mixture(t)
			s.flip(path, at)
			before := s.list()
			edit, err := s.job(2).Run()
			if err == nil {
				whole.checkHarmless(s, edit.AddBottom, name, at)
				continue
			}
			if !errors.Is(err, corrupt.Err) && !errors.Is(err, corrupt.ErrFormat) {
				t.Errorf("%s damaged at %d: Run returns %v", name, at, err)
			}
			if names := s.list(); edit != nil || !slices.Equal(names, before) {
				t.Fatalf("%s damaged at %d: files %v are left of %v", name, at, names, before)
			}
		}
	}
}

func TestRun_createsFilesAndDoesNothingElse(t *testing.T) {
	s := mixture(t)
	created := 0
	files := faultfs.New(s.files, func(op faultfs.Op) error {
		switch op.Kind {
		case faultfs.Create:
			created++
		case faultfs.SyncDir, faultfs.Remove, faultfs.Truncate, faultfs.MkdirAll, faultfs.Lock:
			t.Errorf("the job does %v", op)
		}
		return nil
	})
	other := s.with(files)
	if edit := other.run(other.job(2)); len(edit.AddBottom) != created {
		t.Errorf("%d files are created, %d tables are in the edit", created, len(edit.AddBottom))
	}
}
