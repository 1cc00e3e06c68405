package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

// mixture returns entries of catalog and data for several tables and value files.
func mixture() []entry {
	all := slices.Concat(puts(catalogKey(0, "a"), nextIDKey()), numbered(1, 100))
	for i := range 20 {
		all = append(all, valued(1000+i, separate+i))
	}
	return all
}

// attempt writes a run of a mixture and aborts it if that fails.
func attempt(files vfs.Files) (writeErr, abortErr error) {
	w := NewWriter(withValues(files))
	_, err := add(w, mixture())
	if err == nil {
		_, err = w.Finish()
	}
	if err == nil {
		return nil, nil
	}
	return err, w.Abort()
}

// namesAFile reports whether err starts by naming a file.
func namesAFile(err error) bool {
	for n := range uint64(40) {
		if strings.Contains(err.Error(), fmt.Sprintf(" table %06d: ", n)) ||
			strings.Contains(err.Error(), fmt.Sprintf(" value file %06d: ", n)) {
			return true
		}
	}
	return false
}

// handles is the files that are open, by name.
type handles map[string]bool

// watch returns a hook that calls inner and keeps h up to date.
func (h handles) watch(inner faultfs.Hook) faultfs.Hook {
	return func(op faultfs.Op) error {
		err := inner(op)
		switch {
		case op.Kind == faultfs.Create && err == nil:
			h[op.Name] = true
		case op.Kind == faultfs.Close: // it closes even if it fails
			delete(h, op.Name)
		}
		return err
	}
}

func TestWriter_leavesNoFileWhenAnOperationFails(t *testing.T) {
	for name, hook := range map[string]func(int64, error) faultfs.Hook{
		"failure": faultfs.FailAt, "short write": faultfs.ShortWriteAt,
	} {
		n := int64(0)
		for ; ; n++ {
			disk, open := newFS(t), handles{}
			err, abortErr := attempt(faultfs.New(disk, open.watch(hook(n, errFault))))
			if err == nil {
				break
			}
			if !errors.Is(err, errFault) || !namesAFile(err) {
				t.Errorf("%s of operation %d: the error is %v", name, n, err)
			}
			if names := list(t, disk); abortErr != nil || len(names)+len(open) > 0 {
				t.Errorf("%s of operation %d: files %v are left, and open %v (%v)", name, n, names,
					open, abortErr)
			}
		}
		if n < 50 {
			t.Errorf("%s: only %d operations could fail", name, n)
		}
	}
}

func TestWriter_leavesNoFileOnAFullDisk(t *testing.T) {
	for space := int64(0); ; space += 400 {
		disk := newFS(t)
		err, abortErr := attempt(faultfs.New(disk, faultfs.NewQuota(space).Hook))
		if err == nil {
			if space < 5000 {
				t.Errorf("everything fits into %d bytes", space)
			}
			return
		}
		if !errors.Is(err, vfs.ErrNoSpace) || !namesAFile(err) {
			t.Errorf("with %d bytes the error is %v", space, err)
		}
		if names := list(t, disk); abortErr != nil || len(names) > 0 {
			t.Errorf("with %d bytes files %v are left (%v)", space, names, abortErr)
		}
	}
}

func TestWriter_syncsEachFileOnceItIsWritten(t *testing.T) {
	open, synced := handles{}, map[string]bool{}
	files := faultfs.New(newFS(t), open.watch(func(op faultfs.Op) error {
		switch op.Kind {
		case faultfs.WriteAt:
			synced[op.Name] = false
		case faultfs.Sync:
			synced[op.Name] = true
		case faultfs.Create, faultfs.Close:
		default:
			return fmt.Errorf("%v is not for a run's writer to do", op.Kind)
		}
		return nil
	}))
	output := write(t, withValues(files), mixture())
	n := len(output.Tables) + len(output.Values)
	if len(open) > 0 || len(synced) != n || len(output.Values) < 5 {
		t.Errorf("%d files, %d of them written, %v not closed", n, len(synced), open)
	}
	for name, ok := range synced {
		if !ok {
			t.Errorf("%s was written after the last sync, or never synced", name)
		}
	}
}

func TestAbort_goesOnWhenAFileCannotBeRemoved(t *testing.T) {
	for i := range 12 {
		disk, stuck := newFS(t), ""
		w := NewWriter(withValues(faultfs.New(disk, func(op faultfs.Op) error {
			if op.Kind == faultfs.Remove && strings.HasSuffix(op.Name, stuck) {
				return errFault
			}
			return nil
		})))
		_, err := add(w, mixture())
		check(t, err)
		stuck = list(t, disk)[i]
		if err := w.Abort(); !errors.Is(err, errFault) || !strings.Contains(err.Error(), stuck) {
			t.Errorf("Abort says %v of %s", err, stuck)
		}
		if names := list(t, disk); !slices.Equal(names, []string{stuck}) {
			t.Errorf("files %v are left, want %s", names, stuck)
		}
	}
}

func TestClose_closesFilesAndLeavesThem(t *testing.T) {
	disk, open := newFS(t), handles{}
	w := NewWriter(withValues(faultfs.New(disk, open.watch(func(faultfs.Op) error { return nil }))))
	_, err := add(w, mixture())
	check(t, err)
	before := list(t, disk)
	if len(open) != 2 {
		t.Fatalf("%v are open, want a table and a value file", open)
	}
	check(t, w.Close())
	if after := list(t, disk); len(open) > 0 || !slices.Equal(before, after) {
		t.Errorf("%v are open, files %v are left of %v", open, after, before)
	}
	check(t, w.Close())
	check(t, NewWriter(withValues(disk)).Close())
}
