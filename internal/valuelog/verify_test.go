package valuelog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

func TestVerify_readsAnewWhatWasVerified(t *testing.T) {
	everywhere(t, func(t *testing.T, fs vfs.FS, path string) {
		values := [][]byte{
			{}, []byte("short"), bytes.Repeat([]byte("long "), verifyBytes/2), []byte("last"),
		}
		file, err := fs.Create(path)
		check(t, err)
		w := NewWriter(file, 7, testDatabase())
		var pointers []Pointer
		for _, value := range values {
			p, err := w.Append(value)
			check(t, err)
			pointers = append(pointers, p)
		}
		size, err := w.Finish()
		check(t, err)
		check(t, file.Close())
		used := New(Config{FS: fs, Path: path, Number: 7, Database: testDatabase(), Size: int64(size)})
		for _, p := range pointers {
			_, err := used.Read(p)
			check(t, err)
			check(t, used.Verify(p))
		}

		whole := make([]byte, size)
		file, err = fs.Open(path)
		check(t, err)
		_, err = file.ReadAt(whole, 0)
		check(t, errors.Join(err, file.Close(), fs.Remove(path)))
		at := pointers[2].Offset + verifyBytes + 3
		whole[at] ^= 1
		file, err = fs.Create(path)
		check(t, err)
		_, err = file.WriteAt(whole, 0)
		check(t, errors.Join(err, file.Close()))

		again, release, err := used.Anew()
		check(t, err)
		defer release()
		for i, p := range pointers {
			err := again.Verify(p)
			if damaged := errors.Is(err, corrupt.Err); damaged != (i == 2) {
				t.Errorf("value %d: %v", i, err)
			}
		}
		for _, p := range []Pointer{
			{File: 8, Offset: 48}, {File: 7, Offset: 47}, {File: 7, Offset: size, Length: 1},
		} {
			if err := again.Verify(p); !errors.Is(err, corrupt.Err) {
				t.Errorf("pointer %+v: %v", p, err)
			}
		}
	})
}

func TestAnew_returnsAFileThatWasRemovedOnlyIfItIsOpen(t *testing.T) {
	fs, path := inMemory(t)
	file, err := fs.Create(path)
	check(t, err)
	w := NewWriter(file, 7, testDatabase())
	p, err := w.Append([]byte("value"))
	check(t, err)
	size, err := w.Finish()
	check(t, err)
	c := Config{FS: fs, Path: path, Number: 7, Database: testDatabase(), Size: int64(size)}
	open := New(c)
	check(t, errors.Join(open.Open(), fs.Remove(path)))
	again, release, err := open.Anew()
	check(t, err)
	defer release()
	check(t, again.Verify(p))
	if _, _, err := New(c).Anew(); !errors.Is(err, corrupt.Err) {
		t.Errorf("error %v, want corrupt.Err", err)
	}
}
