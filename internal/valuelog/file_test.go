package valuelog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

func TestFile_readsWhatWasWritten(t *testing.T) {
	everywhere(t, func(t *testing.T, fs vfs.FS, path string) {
		values := someValues()
		ps, c := writeValues(t, fs, path, values)
		wantValues(t, New(c), ps, values)
	})
}

// A log segment has other things around the values, and perhaps preallocated zeros behind them.
func TestFile_readsALogSegment(t *testing.T) {
	everywhere(t, func(t *testing.T, fs vfs.FS, path string) {
		values := someValues()
		image := bytes.Repeat([]byte("STOATLOG"), 6)
		var ps []Pointer
		for _, v := range values {
			image = append(image, "frame header"...)
			ps = append(ps, NewPointer(7, uint64(len(image)), v))
			image = append(image, v...)
		}
		size := int64(len(image))
		f, err := fs.Create(path)
		check(t, err)
		_, err = f.WriteAt(append(image, make([]byte, 5000)...), 0)
		check(t, err)
		check(t, f.Close())
		c := config(fs, path, size)
		c.Log = true
		file := New(c)
		wantValues(t, file, ps, values)
		if r := file.reader.Load(); r.file == nil && int64(len(r.data)) != size {
			t.Errorf("%d bytes are mapped, want %d", len(r.data), size)
		}
		_, err = file.Read(NewPointer(7, uint64(size), []byte{0}))
		wantDamage(t, err, size)
	})
}

func TestFile_staysReadableWhenRemovedOnceOpened(t *testing.T) {
	everywhere(t, func(t *testing.T, fs vfs.FS, path string) {
		values := someValues()
		ps, c := writeValues(t, fs, path, values)
		file := New(c)
		check(t, file.Open())
		if err := fs.Remove(path); err != nil {
			if runtime.GOOS == "linux" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		wantValues(t, file, ps, values)
		wantDamage(t, New(c).Open(), 0)
	})
}

func TestFile_isOpenedByTheFirstUse(t *testing.T) {
	disk, path := inMemory(t)
	values := [][]byte{valueOf(1, 10)}
	ps, c := writeValues(t, disk, path, values)
	fs := faultfs.New(disk, func(faultfs.Op) error { return nil })
	c.FS = fs
	file := New(c)
	if n := fs.Count(); n > 0 {
		t.Errorf("New does %d operations", n)
	}
	wantValues(t, file, ps, values)
	before := fs.Count()
	wantValues(t, file, ps, values)
	if n := fs.Count() - before; n > 0 {
		t.Errorf("reading again does %d operations", n)
	}
}

// handles counts the files that are open.
type handles struct {
	sync.Mutex
	open int
}

func (h *handles) hook(inner faultfs.Hook) faultfs.Hook {
	return func(op faultfs.Op) error {
		h.Lock()
		defer h.Unlock()
		err := inner(op)
		switch {
		case op.Kind == faultfs.Open && err == nil:
			h.open++
		case op.Kind == faultfs.Close:
			h.open--
		}
		return err
	}
}

func TestFile_reportsWhatFailsAndTriesAgain(t *testing.T) {
	for name, wrap := range map[string]func(vfs.FS) vfs.FS{
		"mapped": func(fs vfs.FS) vfs.FS { return fs }, "not mapped": func(fs vfs.FS) vfs.FS {
			return unmapped{fs}
		},
	} {
		n := int64(0)
		for ; ; n++ {
			disk, path := inMemory(t)
			values := [][]byte{valueOf(1, 2000)}
			ps, c := writeValues(t, disk, path, values)
			var open handles
			c.FS = wrap(faultfs.New(disk, open.hook(faultfs.FailAt(n, errFault))))
			file := New(c)
			_, err := file.Read(ps[0])
			if err == nil {
				break
			}
			if !errors.Is(err, errFault) || !strings.Contains(err.Error(), folder.Values.Name(7)) {
				t.Errorf("%s: failure of operation %d: %v", name, n, err)
			}
			if file.reader.Load() == nil && open.open != 0 {
				t.Errorf("%s: failure of operation %d: %d files stay open", name, n, open.open)
			}
			wantValues(t, file, ps, values)
		}
		if n < 4 {
			t.Errorf("%s: only %d operations could fail", name, n)
		}
	}
}

// tracked is a file system whose maps tell when they are let go.
type tracked struct {
	vfs.FS
	unmapped chan bool
}

func (s tracked) Open(name string) (vfs.File, error) {
	f, err := s.FS.Open(name)
	return trackedFile{f, s.unmapped}, err
}

type trackedFile struct {
	vfs.File
	unmapped chan bool
}

func (f trackedFile) Map(size int64) ([]byte, func() error, error) {
	data, unmap, err := f.File.Map(size)
	return data, func() error { f.unmapped <- true; return unmap() }, err
}

func TestFile_isLetGoWhenUnreachable(t *testing.T) {
	disk, path := inMemory(t)
	values := [][]byte{valueOf(1, 2000)}
	ps, c := writeValues(t, disk, path, values)
	unmapped := make(chan bool, 1)
	c.FS = tracked{disk, unmapped}
	file := New(c)
	wantValues(t, file, ps, values)
	runtime.GC()
	if len(unmapped) > 0 {
		t.Error("the map is gone while the file is in use")
	}
	runtime.KeepAlive(file)
	late := time.NewTimer(10 * time.Second)
	defer late.Stop()
	for {
		runtime.GC()
		select {
		case <-unmapped:
			return
		case <-late.C:
			t.Fatal("the map is kept")
		default:
			runtime.Gosched()
		}
	}
}

func TestRead_allocatesNothingOnceVerified(t *testing.T) {
	everywhere(t, func(t *testing.T, fs vfs.FS, path string) {
		values := [][]byte{valueOf(1, 100), valueOf(2, 1024), valueOf(3, 50_000)}
		ps, c := writeValues(t, fs, path, values)
		file := New(c)
		wantValues(t, file, ps, values)
		if file.reader.Load().file != nil {
			return // each read is new memory
		}
		for i, p := range ps {
			n := testing.AllocsPerRun(100, func() {
				if _, err := file.Read(p); err != nil {
					t.Error(err)
				}
			})
			if n != 0 {
				t.Errorf("%v allocations for a value of %d bytes", n, len(values[i]))
			}
		}
	})
}

func TestRead_isSafeForConcurrentUse(t *testing.T) {
	everywhere(t, func(t *testing.T, fs vfs.FS, path string) {
		values := someValues()
		ps, c := writeValues(t, fs, path, values)
		file := New(c)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				file.Prefetch(ps)
				for i := range ps {
					i = (i*(2*g+1) + g) % len(ps)
					got, err := file.Read(ps[i])
					if err != nil || !bytes.Equal(got, values[i]) {
						t.Errorf("value %d is %.40q, %v", i, got, err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// A file that shrinks under its map faults when it is touched, as an unreadable sector does.
func TestRead_reportsAFaultInAMapAsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), folder.Values.Name(7))
	values := [][]byte{valueOf(1, 50_000), valueOf(2, 500), valueOf(3, 5000)}
	ps, c := writeValues(t, vfs.OS(), path, values)
	file := New(c)
	check(t, file.Open())
	wantMap(t, file)
	check(t, os.Truncate(path, fileheader.Size))
	for _, p := range ps[1:] {
		file.Prefetch([]Pointer{p})
		_, err := file.Read(p)
		if !errors.Is(err, vfs.ErrFault) || !strings.Contains(err.Error(), path) {
			t.Errorf("error is %v", err)
		}
	}
}
