package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/intake"
)

const (
	// entryBytesMax bounds the memory that a line or row takes: what is longer makes no sense.
	entryBytesMax = 64 << 20
	keyBytesMax   = 65_535
	byteOrderMark = "\xef\xbb\xbf"
)

// sourceEntry is an entry of a source. Its slices are valid until the next one is read.
type sourceEntry struct {
	key      []byte // nil if it is to be numbered
	value    []byte
	redacted bool // the source has erased it
}

// entryReader reads the entries of a source in order. It is not safe for concurrent use.
type entryReader interface {
	source() intake.Source
	size() int64                   // bytes
	seek(at intake.Position) error // called once, before next
	// next returns the next entry, or errImported. After a badEntry it can be called again.
	next() (sourceEntry, error)
	position() intake.Position // behind what next returned last
	where() string             // what next returned last, for messages
	findings() []string        // about the whole source, when next has returned all
	close() error
}

// badEntry is an error about one entry, which can be left out.
type badEntry struct {
	err error
}

func (e *badEntry) Error() string { return e.err.Error() }

// Unwrap returns what is wrong.
func (e *badEntry) Unwrap() error { return e.err }

func badf(format string, args ...any) error { return &badEntry{fmt.Errorf(format, args...)} }

// checkKey returns an error unless a database can take the key.
func checkKey(key []byte) error {
	if len(key) == 0 {
		return badf("the key is empty")
	}
	if len(key) > keyBytesMax {
		return badf("the key has %d bytes, at most %d", len(key), keyBytesMax)
	}
	return nil
}

// importFile is a regular file that is read from a place on. It is not safe for concurrent use.
type importFile struct {
	f    *os.File
	kind string
	path string // absolute
	info os.FileInfo
}

func openImport(kind, name string) (*importFile, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file, which an import needs so that it can go on "+
			"after an interrupt", name)
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return &importFile{f: f, kind: kind, path: path, info: info}, nil
}

func (f *importFile) source() intake.Source {
	return intake.Source{Kind: f.kind, Path: f.path, Identity: intake.Identity(f.info)}
}

func (f *importFile) size() int64        { return f.info.Size() }
func (f *importFile) findings() []string { return nil }
func (f *importFile) close() error       { return f.f.Close() }

// from returns a reader of the file from offset on; start is offset, or what follows the byte order
// mark that the file begins with.
func (f *importFile) from(offset int64) (r *bufio.Reader, start int64, err error) {
	if _, err := f.f.Seek(offset, io.SeekStart); err != nil {
		return nil, 0, err
	}
	r = bufio.NewReaderSize(f.f, 1<<16)
	if offset > 0 {
		return r, offset, nil
	}
	head, err := r.Peek(len(byteOrderMark))
	if err != nil && err != io.EOF {
		return nil, 0, err
	}
	if bytes.Equal(head, []byte(byteOrderMark)) {
		_, err = r.Discard(len(byteOrderMark))
		return r, int64(len(byteOrderMark)), err
	}
	return r, 0, nil
}
