package compaction

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

// unmapped is a file system whose files cannot be mapped, so they are read with ReadAt.
type unmapped struct{ vfs.FS }

type unmappedFile struct{ vfs.File }

func (u unmapped) Open(name string) (vfs.File, error) {
	f, err := u.FS.Open(name)
	return unmappedFile{f}, err
}

func (unmappedFile) Map(int64) ([]byte, func() error, error) { return nil, nil, vfs.ErrNoMap }

// mixture returns a store with inputs whose compaction makes several tables and value files.
func mixture(t testing.TB) *store {
	t.Helper()
	s := newStore(t)
	s.values = run.Values{Separate: 60, FileBytes: 300}
	long := strings.Repeat("long ", 12)
	s.bottom(puts("old", keys(1, 30)...).over(puts(long, keys(31, 45)...)))
	s.young(puts("new", keys(20, 32)...).over(puts(long+"new", keys(25, 30)...)))
	s.young(expiring(now, "gone", keys(5, 10)...), between(12, 14))
	return s
}

// all returns a job that compacts everything and rewrites all values.
func (s *store) all() Job {
	s.t.Helper()
	j := s.intoBottom(s.youngJob(0, 2), func(*manifest.Table) bool { return true })
	j.Output.Values.Relocate = func(uint64) bool { return true }
	return j
}

func TestDo_leavesNoFileWhenAnOperationFails(t *testing.T) {
	for name, hook := range map[string]func(int64, error) faultfs.Hook{
		"failure": faultfs.FailAt, "short write": faultfs.ShortWriteAt,
	} {
		s := mixture(t)
		before := s.list()
		for n := int64(0); ; n++ {
			files := unmapped{faultfs.New(s.files, hook(n, errFault))}
			edit, err := s.with(files).all().Do()
			if err == nil {
				if n < 50 || len(edit.AddBottom) < 3 || len(edit.AddValues) < 3 {
					t.Errorf("%s: only %d operations could fail, for %+v", name, n, edit)
				}
				break
			}
			if edit != nil || !errors.Is(err, errFault) || !namesAFile(err) {
				t.Errorf("%s of operation %d: Run returns %v, %v", name, n, edit, err)
			}
			if names := s.list(); !slices.Equal(names, before) {
				t.Fatalf("%s of operation %d: files %v are left of %v", name, n, names, before)
			}
		}
	}
}

// namesAFile reports whether err names a file.
func namesAFile(err error) bool {
	for _, kind := range []string{"table 0", "value file 0", "values 0", ".table", ".values"} {
		if strings.Contains(err.Error(), kind) {
			return true
		}
	}
	return false
}

func TestDo_failsWhereAMapFails(t *testing.T) {
	s := mixture(t)
	before, unlucky := s.list(), ""
	files := faultfs.New(s.files, func(op faultfs.Op) error {
		if op.Kind == faultfs.Map && strings.HasSuffix(op.Name, unlucky) {
			return errFault
		}
		return nil
	})
	for _, unlucky = range before {
		if edit, err := s.with(files).all().Do(); edit != nil || !errors.Is(err, errFault) {
			t.Errorf("where %s cannot be mapped, Run returns %v, %v", unlucky, edit, err)
		}
		if names := s.list(); !slices.Equal(names, before) {
			t.Errorf("files %v are left of %v", names, before)
		}
	}
}

func TestDo_leavesNoFileOnAFullDisk(t *testing.T) {
	s := mixture(t)
	before := s.list()
	for space := int64(0); ; space += 300 {
		files := faultfs.New(s.files, faultfs.NewQuota(space).Hook)
		_, err := s.with(files).all().Do()
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

// A compaction must not copy what it cannot verify.
func TestDo_stopsAtDamage(t *testing.T) {
	whole := mixture(t)
	for _, name := range whole.list() {
		path := filepath.Join(testDir, name)
		for at := int64(0); at < whole.size(path); at += 7 {
			s := mixture(t)
			s.flip(path, at)
			before := s.list()
			edit, err := s.all().Do()
			if err == nil {
				s.apply(edit)
				whole.checkHarmless(s, name, at)
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

func TestDo_createsFilesAndDoesNothingElse(t *testing.T) {
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
	edit := other.run(other.all())
	if n := len(edit.AddBottom) + len(edit.AddValues); n != created || len(edit.AddValues) < 3 {
		t.Errorf("%d files are created, %d are in the edit %+v", created, n, edit)
	}
}
