package cryptfs

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// key returns the nth key of the tests.
func key(n byte) []byte { return bytes.Repeat([]byte{n}, KeyBytes) }

// newTestFS returns an encrypting file system on inner with the nth key.
func newTestFS(t testing.TB, inner vfs.FS, n byte) *FS {
	t.Helper()
	k, err := NewKey(key(n))
	ok(t, err)
	return New(inner, k)
}

// write makes a file of pieces, each of which is one write.
func write(t testing.TB, files vfs.Files, name string, pieces ...[]byte) {
	t.Helper()
	f, err := files.Create(name)
	ok(t, err)
	at := int64(0)
	for _, p := range pieces {
		_, err := f.WriteAt(p, at)
		ok(t, err)
		at += int64(len(p))
	}
	ok(t, f.Sync())
	ok(t, f.Close())
}

// read returns the content of a file.
func read(files vfs.Files, name string) (content []byte, err error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	content = make([]byte, size)
	n, err := f.ReadAt(content, 0)
	if n == len(content) {
		err = nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return content, err
}

// stored returns what a file is on the file system below.
func stored(t testing.TB, inner vfs.Files, name string) []byte {
	t.Helper()
	p, err := read(inner, name)
	ok(t, err)
	return p
}

// store replaces a file on the file system below.
func store(t testing.TB, inner vfs.Files, name string, p []byte) {
	t.Helper()
	ok(t, inner.Remove(name))
	write(t, inner, name, p)
}

// text returns n bytes that are not alike, and never zero.
func text(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i%251) + 1
	}
	return p
}

func newMemory(t testing.TB) *memfs.FS {
	t.Helper()
	inner := memfs.New()
	ok(t, inner.MkdirAll("db"))
	return inner
}
