package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/faultfs"
)

// attempt writes a run of several tables, of catalog and of data, and aborts it if that fails.
func attempt(files vfs.FS) (writeErr, abortErr error) {
	w := NewWriter(config(files))
	_, err := add(w, slices.Concat(puts(catalogKey(0, "a"), nextIDKey()), numbered(1, 100)))
	if err == nil {
		_, err = w.Finish()
	}
	if err == nil {
		return nil, nil
	}
	return err, w.Abort()
}

// namesAFile reports whether err says in its first words which table it is about.
func namesAFile(err error) bool {
	for n := range uint64(40) {
		if strings.Contains(err.Error(), fmt.Sprintf(" table %06d: ", n)) {
			return true
		}
	}
	return false
}

// handles is the files that are open, by name.
type handles map[string]bool

// watch returns a hook that does as inner does, and keeps h up to date.
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
				t.Errorf("%s of operation %d: files %v are left, and open %v (%v)", name, n, names, open,
					abortErr)
			}
		}
		if n < 20 {
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

func TestWriter_syncsEachTableOnceItIsWritten(t *testing.T) {
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
	tables := write(t, config(files), numbered(1, 100))
	if len(open) > 0 || len(synced) != len(tables) {
		t.Errorf("%d tables, %d of them written, %v not closed", len(tables), len(synced), open)
	}
	for name, ok := range synced {
		if !ok {
			t.Errorf("%s was written after the last sync, or never synced", name)
		}
	}
}

func TestAbort_goesOnWhenAFileCannotBeRemoved(t *testing.T) {
	disk := newFS(t)
	w := NewWriter(config(faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind == faultfs.Remove && strings.HasSuffix(op.Name, Name(6)) {
			return errFault
		}
		return nil
	})))
	_, err := add(w, numbered(1, 100))
	check(t, err)
	if n := len(list(t, disk)); n < 4 {
		t.Fatalf("only %d tables", n)
	}
	if err := w.Abort(); !errors.Is(err, errFault) || !strings.Contains(err.Error(), Name(6)) {
		t.Errorf("Abort says %v", err)
	}
	if names := list(t, disk); !slices.Equal(names, []string{Name(6)}) {
		t.Errorf("files %v are left", names)
	}
}
