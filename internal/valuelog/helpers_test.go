package valuelog

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var errFault = errors.New("injected fault")

func testDatabase() [16]byte { return [16]byte{0xDB, 1, 2, 3} }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unmapped is a file system without maps.
type unmapped struct{ vfs.FS }

func (u unmapped) Open(name string) (vfs.File, error) {
	f, err := u.FS.Open(name)
	return unmappedFile{f}, err
}

type unmappedFile struct{ vfs.File }

func (unmappedFile) Map(int64) ([]byte, func() error, error) { return nil, nil, vfs.ErrNoMap }

// everywhere runs a test on every file system, with and without maps, in an empty directory.
func everywhere(t *testing.T, test func(t *testing.T, fs vfs.FS, path string)) {
	for name, fs := range map[string]vfs.FS{
		"OS": vfs.OS(), "OS without maps": unmapped{vfs.OS()},
		"memory": memfs.New(), "memory without maps": unmapped{memfs.New()},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			check(t, fs.MkdirAll(dir))
			test(t, fs, filepath.Join(dir, folder.Values.Name(7)))
		})
	}
}

// inMemory returns a file system in memory and the path of the file under test in it.
func inMemory(t testing.TB) (fs vfs.FS, path string) {
	t.Helper()
	fs = memfs.New()
	check(t, fs.MkdirAll("/db"))
	return fs, filepath.Join("/db", folder.Values.Name(7))
}

// someValues returns values of all lengths that matter: empty, short, about a granule long, longer
// than a page, than the writer's buffer, and in between.
func someValues() (all [][]byte) {
	for i, n := range []int{
		0, 1, 300, 1023, 1024, 1025, 4096, 5000, 0, 70_000, bufferBytes - 1, bufferBytes,
		bufferBytes + 1, 3, 2*bufferBytes + 5, 0,
	} {
		all = append(all, valueOf(i, n))
	}
	for i := range 300 {
		all = append(all, valueOf(i, 1000+i))
	}
	return all
}

// valueOf returns a value of n bytes that differs from those of other seeds.
func valueOf(seed, n int) []byte {
	unit := fmt.Appendf(nil, "value %d; ", seed)
	return bytes.Repeat(unit, n/len(unit)+1)[:n]
}

// writeValues writes a value file with number 7.
func writeValues(t testing.TB, fs vfs.FS, path string, values [][]byte) (ps []Pointer, c Config) {
	t.Helper()
	f, err := fs.Create(path)
	check(t, err)
	w := NewWriter(f, 7, testDatabase())
	for _, v := range values {
		before := w.Size()
		p, err := w.Append(v)
		check(t, err)
		if p != NewPointer(7, uint64(before), v) || w.Size() != before+int64(len(v)) {
			t.Fatalf("%d bytes at %d got pointer %+v, and now the size is %d", len(v), before, p,
				w.Size())
		}
		ps = append(ps, p)
	}
	size, err := w.Finish()
	check(t, err)
	actual, err := f.Size()
	check(t, err)
	if uint64(actual) != size || w.Size() != actual {
		t.Fatalf("the file has %d bytes, Finish said %d and Size %d", actual, size, w.Size())
	}
	check(t, f.Close())
	return ps, config(fs, path, actual)
}

func config(fs vfs.FS, path string, size int64) Config {
	return Config{FS: fs, Path: path, Number: 7, Database: testDatabase(), Size: size}
}

// imageOf returns the content of a file.
func imageOf(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	check(t, err)
	size, err := f.Size()
	check(t, err)
	image := make([]byte, size)
	_, err = f.ReadAt(image, 0)
	check(t, err)
	check(t, f.Close())
	return image
}

// fileOf returns a file whose content on the disk is image, and is said to have size bytes.
func fileOf(t testing.TB, image []byte, size int64, maps bool) *File {
	t.Helper()
	fs, path := inMemory(t)
	f, err := fs.Create(path)
	check(t, err)
	_, err = f.WriteAt(image, 0)
	check(t, err)
	check(t, f.Close())
	if !maps {
		fs = unmapped{fs}
	}
	return New(config(fs, path, size))
}

// wantValues reads all values, twice.
func wantValues(t testing.TB, f *File, ps []Pointer, want [][]byte) {
	t.Helper()
	for range 2 {
		for i, p := range ps {
			got, err := f.Read(p)
			if err != nil || !bytes.Equal(got, want[i]) {
				t.Fatalf("value %d of %d bytes is %.40q, %v", i, len(want[i]), got, err)
			}
			if cap(got) != len(got) {
				t.Fatalf("appending to value %d would change what follows it", i)
			}
		}
	}
}

// wantDamage fails the test unless err is damage that names the file and the offset.
func wantDamage(t testing.TB, err error, offset int64) {
	t.Helper()
	var damage *corrupt.Error
	named := errors.As(err, &damage) && filepath.Base(damage.File) == folder.Values.Name(7)
	if !named || damage.Offset != offset {
		t.Errorf("error is %v, want damage at offset %d", err, offset)
	}
}

// wantMap skips the test where files are not mapped, and fails it where they should be.
func wantMap(t *testing.T, file *File) {
	t.Helper()
	switch {
	case file.reader.Load().file == nil:
	case runtime.GOOS == "linux" && strconv.IntSize == 64:
		t.Fatal("the file is not mapped")
	default:
		t.Skip("files are not mapped here")
	}
}
