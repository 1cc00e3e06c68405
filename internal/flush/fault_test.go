package flush

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

// mixture returns a store, and writes whose flush reads tables of it and writes several of catalog
// and data to either run.
func mixture(t testing.TB) (*store, writes) {
	t.Helper()
	s := newStore(t)
	s.flush(family())
	w := puts()
	for id := uint64(1000); id < 1100; id++ {
		w.bucket(0, id)
	}
	w.drop(0, 2)
	return s, w
}

// separated is a mixture whose catalog and data both have large values, which go to value files.
func separated(t testing.TB) (*store, writes) {
	t.Helper()
	s, w := inverted(t)
	s.values = run.Values{Separate: 50, FileBytes: 300}
	for i := range 12 {
		w[catalogKey(7, uint64(i))] = bytes.Repeat([]byte{byte(i)}, 60)
		w[dataKey(7, fmt.Sprintf("key%04d", 15+i))] = bytes.Repeat([]byte{byte(i)}, 50+i)
	}
	return s, w
}

// inverted is a mixture whose catalog goes to the bottom and its data to a young run.
func inverted(t testing.TB) (*store, writes) {
	t.Helper()
	s := newStore(t)
	s.flush(span(1, 50))
	w := span(10, 40)
	for id := uint64(1000); id < 1030; id++ {
		w[catalogKey(0, id)] = []byte("an entry")
	}
	return s, w
}

func TestDo_leavesNoFileWhenAnOperationFails(t *testing.T) {
	for name, hook := range map[string]func(int64, error) faultfs.Hook{
		"failure": faultfs.FailAt, "short write": faultfs.ShortWriteAt,
	} {
		for _, fill := range []func(testing.TB) (*store, writes){mixture, inverted, separated} {
			s, w := fill(t)
			before, n := s.list(), int64(0)
			for ; failsCleanly(s, w, hook(n, errFault), before); n++ {
			}
			if names := s.list(); n < 15 || len(names) < len(before)+4 {
				t.Errorf("%s: only %d operations could fail, for files %v", name, n, names)
			}
		}
	}
}

// failsCleanly reports whether the hook fails an operation of a flush of w; if so, the flush has to
// fail and leave the files as they were, unless it was only looking for a gap.
func failsCleanly(s *store, w writes, hook faultfs.Hook, before []string) bool {
	s.t.Helper()
	var failed *faultfs.Op
	edit, err := s.with(faultfs.New(s.files, func(op faultfs.Op) error {
		err := hook(op)
		if err != nil {
			failed = &op
		}
		return err
	})).job(w).Do()
	if err == nil && failed != nil && !failed.Kind.Mutates() {
		for _, name := range s.list() {
			if !slices.Contains(before, name) {
				check(s.t, s.files.Remove(filepath.Join(testDir, name)))
			}
		}
		return true
	}
	if err == nil {
		return false
	}
	if edit != nil || !errors.Is(err, errFault) || !namesAFile(err) {
		s.t.Errorf("Run returns %v, %v", edit, err)
	}
	if names := s.list(); !slices.Equal(names, before) {
		s.t.Fatalf("after %v: files %v are left of %v", err, names, before)
	}
	return true
}

// namesAFile reports whether err names a file.
func namesAFile(err error) bool {
	return strings.Contains(err.Error(), "table 0") || strings.Contains(err.Error(), "value file 0")
}

func TestDo_leavesNoFileOnAFullDisk(t *testing.T) {
	s, w := separated(t)
	before := s.list()
	for space := int64(0); ; space += 600 {
		files := faultfs.New(s.files, faultfs.NewQuota(space).Hook)
		_, err := s.with(files).job(w).Do()
		if err == nil {
			if space < 3000 {
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

func TestDo_createsFilesAndDoesNothingElse(t *testing.T) {
	s, w := separated(t)
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
	edit := s.with(files).flush(w)
	if n := len(tables(edit)) + len(edit.AddValues); n != created || len(edit.AddValues) < 4 {
		t.Errorf("%d files are created, %d are in the edit %+v", created, n, edit)
	}
}
