package table

import (
	"bytes"
	"errors"
	"math/rand"
	"reflect"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// newWriter returns a writer to a new file of a memory file system.
func newWriter(t testing.TB, o WriterOptions) *Writer {
	t.Helper()
	f, err := newFS(t).Create(testPath)
	if err != nil {
		t.Fatal(err)
	}
	return NewWriter(f, o)
}

func TestFinish_summarisesTheTable(t *testing.T) {
	w := newWriter(t, WriterOptions{Encoding: zipped()})
	add := func(kind keyspace.Kind, key string, value []byte) {
		if err := w.Add([]byte(key), keyspace.Entry{Kind: kind, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	add(keyspace.KindPut, "a", make([]byte, 1000))
	add(keyspace.KindDelete, "bb", []byte("ignored"))
	add(keyspace.KindPut, "ccc", []byte("value"))
	s, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if s.Entries != 3 || s.Tombstones != 1 || s.RawBytes != 6+1005 ||
		s.Stored.Codecs[block.Zstd] == 0 || string(s.Smallest) != "a" || string(s.Largest) != "ccc" {
		t.Errorf("summary is %+v", s)
	}
}

func TestWriter_keepsKindsAndExpiries(t *testing.T) {
	fs := newFS(t)
	f, err := fs.Create(testPath)
	if err != nil {
		t.Fatal(err)
	}
	entries := []keyspace.Entry{
		{Kind: keyspace.KindPut, Value: []byte("stays")},
		{Kind: keyspace.KindPut, Value: []byte("goes"), Until: 1_700_000_000_000},
		{Kind: keyspace.KindPointer, Value: []byte("where it is"), Until: 1},
		{Kind: keyspace.KindPointer, Value: []byte("elsewhere")},
	}
	w := NewWriter(f, WriterOptions{Number: 7, Database: testDatabase()})
	for i, e := range entries {
		if err := w.Add([]byte{byte(i)}, e); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	table := New(Config{FS: fs, Path: testPath, Number: 7, Database: testDatabase(),
		Size: int64(s.Size), Cache: NewCache(1 << 20)})
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	for i, want := range entries {
		if !c.Seek([]byte{byte(i)}) || c.Plain() {
			t.Fatalf("entry %d is not there, or its block plain", i)
		}
		for _, got := range []keyspace.Entry{
			c.Entry(), get(t, table, []byte{byte(i)}),
		} {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("entry %d is %v, want %v", i, got, want)
			}
		}
	}
}

// get returns what the table has for key, which must be there.
func get(t *testing.T, table *Table, key []byte) keyspace.Entry {
	t.Helper()
	e, ok, err := findHashed(table, key, filter.Hash(key))
	if !ok || err != nil {
		t.Fatalf("Get(%x): %v, %v", key, ok, err)
	}
	return e
}

func TestWriter_refusesMisuse(t *testing.T) {
	put := keyspace.Entry{Kind: keyspace.KindPut}
	for name, add := range map[string]func(w *Writer) error{
		"no entries": func(*Writer) error { return nil },
		"equal keys": func(w *Writer) error {
			return errors.Join(w.Add([]byte("a"), put), w.Add([]byte("a"), put))
		},
		"falling keys": func(w *Writer) error {
			return errors.Join(w.Add([]byte("b"), put), w.Add([]byte("a"), put))
		},
		"unknown kind":  func(w *Writer) error { return w.Add([]byte("a"), keyspace.Entry{Kind: 9}) },
		"the kind zero": func(w *Writer) error { return w.Add([]byte("a"), keyspace.Entry{}) },
	} {
		w := newWriter(t, WriterOptions{})
		err := add(w)
		if name == "no entries" {
			_, err = w.Finish()
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("%s: Finish does not remember", name)
		}
		if err := w.Add([]byte("z"), put); err == nil {
			t.Errorf("%s: Add does not remember", name)
		}
	}
}

// failingFile fails all writes after the first ones.
type failingFile struct {
	vfs.File
	left int
}

func (f *failingFile) WriteAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, vfs.ErrNoSpace
	}
	return f.File.WriteAt(p, off)
}

func TestWriter_reportsAFullDisk(t *testing.T) {
	entries := messages(20_000, rand.New(rand.NewSource(1)))
	for left := range 4 {
		file, err := newFS(t).Create(testPath)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWriter(&failingFile{file, left}, WriterOptions{})
		for _, e := range entries {
			if err = w.Add(e.key, keyspace.Entry{Kind: e.kind, Value: e.value}); err != nil {
				break
			}
		}
		if _, finishErr := w.Finish(); !errors.Is(finishErr, vfs.ErrNoSpace) {
			t.Errorf("after %d writes Finish says %v, Add said %v", left, finishErr, err)
		}
	}
}

// wholeFile checks that all writes but the last start and end at multiples of bufferBytes.
type wholeFile struct {
	vfs.File
	t    *testing.T
	ends int64
}

func (f *wholeFile) WriteAt(p []byte, off int64) (int, error) {
	if off != f.ends || off%bufferBytes != 0 {
		f.t.Errorf("write at %d after a write up to %d", off, f.ends)
	}
	f.ends = off + int64(len(p))
	return f.File.WriteAt(p, off)
}

func TestWriter_writesHugePages(t *testing.T) {
	entries := messages(12_000, rand.New(rand.NewSource(1)))
	large := entry{key: []byte{0x20}, value: make([]byte, 5*bufferBytes/2), kind: keyspace.KindPut}
	file, err := newFS(t).Create(testPath)
	if err != nil {
		t.Fatal(err)
	}
	f := &wholeFile{File: file, t: t}
	w := NewWriter(f, WriterOptions{})
	for _, e := range append(entries, large) {
		if err := w.Add(e.key, keyspace.Entry{Kind: e.kind, Value: e.value}); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := w.Finish(); err != nil || int64(s.Size) != f.ends || f.ends < 4*bufferBytes {
		t.Errorf("Finish returns %d, %v after a write up to %d", s.Size, err, f.ends)
	}
}

func TestSize_isCloseToTheFinalOne(t *testing.T) {
	for _, o := range []WriterOptions{{}, {Filter: true}, {Encoding: zipped()}} {
		w := newWriter(t, o)
		for _, e := range messages(2000, rand.New(rand.NewSource(1))) {
			if err := w.Add(e.key, keyspace.Entry{Kind: e.kind, Value: e.value}); err != nil {
				t.Fatal(err)
			}
		}
		before := w.Size()
		s, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if diff := before - int64(s.Size); diff < -2000 || diff > defaultBlockBytes {
			t.Errorf("%+v: Size says %d before the end, the file has %d", o, before, s.Size)
		}
	}
}

func TestWriter_isDeterministic(t *testing.T) {
	entries := messages(500, rand.New(rand.NewSource(1)))
	var images [2][]byte
	for i := range images {
		fs := newFS(t)
		s := writeTable(t, fs, testPath, WriterOptions{Encoding: zipped(), Filter: true}, entries)
		images[i] = readFile(t, fs, testPath, int64(s.Size))
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("the same entries give different files")
	}
}

// A message of 397 bytes has 174 that are not predictable; these limits keep the format honest.
func TestWriter_takesFewBytesForMessages(t *testing.T) {
	const n = 10_000
	entries := messages(n, rand.New(rand.NewSource(1)))
	for _, c := range []struct {
		o    WriterOptions
		most float64
	}{
		{WriterOptions{Encoding: zipped()}, 195},
		{WriterOptions{Encoding: zipped(), Filter: true}, 196.5},
		{WriterOptions{Encoding: zipped(), BlockBytes: 16 << 10}, 198.5},
		{WriterOptions{}, 400},
	} {
		s := writeTable(t, newFS(t), testPath, c.o, entries)
		if got := float64(s.Size) / n; got > c.most {
			t.Errorf("%+v: %.2f bytes a message, want at most %.2f", c.o, got, c.most)
		}
	}
}

func TestWriter_cutsBlocksByKeysToo(t *testing.T) {
	entries := shapes(rand.New(rand.NewSource(1)))["long keys"]
	table := openTable(t, WriterOptions{}, NewCache(1<<30), entries)
	if err := table.Open(); err != nil {
		t.Fatal(err)
	}
	if n := len(table.reader.Load().slots); n != len(entries) {
		t.Errorf("%d blocks for %d keys of 64 KiB", n, len(entries))
	}
}
