package valuelog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

func TestWriter_writesValuesBackToBack(t *testing.T) {
	fs, path := inMemory(t)
	values := someValues()
	writeValues(t, fs, path, values)
	header := fileheader.New(fileheader.Values, 7, testDatabase()).Bytes()
	want := append(header[:], bytes.Join(values, nil)...)
	if !bytes.Equal(imageOf(t, fs, path), want) {
		t.Error("the file is not its header and the values")
	}
}

func TestWriter_writesAFileWithoutValues(t *testing.T) {
	fs, path := inMemory(t)
	_, c := writeValues(t, fs, path, nil)
	if c.Size != fileheader.Size {
		t.Errorf("%d bytes", c.Size)
	}
	check(t, New(c).Open())
}

func TestWriter_gathersShortValues(t *testing.T) {
	disk, path := inMemory(t)
	writes := 0
	fs := faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind == faultfs.WriteAt {
			writes++
		}
		return nil
	})
	values := make([][]byte, 1000)
	for i := range values {
		values[i] = valueOf(i, 1000)
	}
	writeValues(t, fs, path, values)
	if most := len(values)*1000/bufferBytes + 1; writes > most {
		t.Errorf("%d writes, want at most %d", writes, most)
	}
}

func TestWriter_takesLittleMemoryForFewValues(t *testing.T) {
	disk, path := inMemory(t)
	f, err := disk.Create(path)
	check(t, err)
	w := NewWriter(f, 7, testDatabase())
	for i := range 1000 {
		_, err := w.Append(valueOf(i, 5000))
		check(t, err)
		if most := int64(min(2*w.Size(), bufferBytes)); int64(cap(w.buffer)) > max(most, 10_000) {
			t.Fatalf("%d bytes of memory for %d", cap(w.buffer), w.Size())
		}
	}
	check(t, f.Close())
}

func TestFinish_syncsWhatIsWritten(t *testing.T) {
	disk, path := inMemory(t)
	var last faultfs.Kind
	fs := faultfs.New(disk, func(op faultfs.Op) error {
		last = op.Kind
		return nil
	})
	f, err := fs.Create(path)
	check(t, err)
	w := NewWriter(f, 7, testDatabase())
	_, err = w.Append(valueOf(1, 10))
	check(t, err)
	_, err = w.Finish()
	check(t, err)
	if last != faultfs.Sync {
		t.Errorf("the last operation is %v", last)
	}
}

func TestWriter_doesNotKeepValues(t *testing.T) {
	fs, path := inMemory(t)
	f, err := fs.Create(path)
	check(t, err)
	w := NewWriter(f, 7, testDatabase())
	value := valueOf(1, 500)
	p, err := w.Append(value)
	check(t, err)
	clear(value)
	size, err := w.Finish()
	check(t, err)
	wantValues(t, New(config(fs, path, int64(size))), []Pointer{p}, [][]byte{valueOf(1, 500)})
}

func TestWriter_endsWithItsFirstError(t *testing.T) {
	values := someValues()
	for name, hook := range map[string]func(int64, error) faultfs.Hook{
		"failure": faultfs.FailAt, "short write": faultfs.ShortWriteAt,
	} {
		n := int64(1) // the file is created
		for ; ; n++ {
			disk, path := inMemory(t)
			f, err := faultfs.New(disk, hook(n, errFault)).Create(path)
			check(t, err)
			w := NewWriter(f, 7, testDatabase())
			var first error
			for _, v := range values {
				if _, err := w.Append(v); first == nil {
					first = err
				} else if !errors.Is(err, first) {
					t.Fatalf("%s of operation %d: Append says %v after %v", name, n, err, first)
				}
			}
			_, err = w.Finish()
			if err == nil {
				break
			}
			if first != nil && !errors.Is(err, first) || !errors.Is(err, errFault) {
				t.Errorf("%s of operation %d: Finish says %v after %v", name, n, err, first)
			}
			if _, again := w.Finish(); !errors.Is(again, err) {
				t.Errorf("%s of operation %d: Finish says %v after %v", name, n, again, err)
			}
		}
		if n < 6 {
			t.Errorf("%s: only %d operations could fail", name, n)
		}
	}
}

func TestWriter_reportsAFullDisk(t *testing.T) {
	disk, path := inMemory(t)
	f, err := faultfs.New(disk, faultfs.NewQuota(bufferBytes).Hook).Create(path)
	check(t, err)
	w := NewWriter(f, 7, testDatabase())
	if _, err := w.Append(make([]byte, 2*bufferBytes)); !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("Append says %v", err)
	}
}

func TestAppend_refusesAFinishedFile(t *testing.T) {
	fs, path := inMemory(t)
	f, err := fs.Create(path)
	check(t, err)
	w := NewWriter(f, 7, testDatabase())
	_, err = w.Finish()
	check(t, err)
	if _, err := w.Append(nil); err == nil {
		t.Error("a finished file takes values")
	}
}
