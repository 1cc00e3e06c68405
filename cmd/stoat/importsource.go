package main

import (
	"fmt"
	"os"
	"time"

	"github.com/stoatdb/stoat/internal/commands/intake"
)

const (
	// entryBytesMax bounds the memory of a line or row.
	entryBytesMax = 64 << 20
	keyBytesMax   = 65_535
)

// sourceEntry is an entry of a source. Its slices are valid until the next one is read.
type sourceEntry struct {
	key      []byte // nil if it is to be numbered
	value    []byte
	expires  time.Time // zero: never
	redacted bool      // the source has erased it
}

// entryReader reads the entries of a source in order. It is not safe for concurrent use.
type entryReader interface {
	source() intake.Source
	size() int64                   // bytes; 0 if unknown
	done() int64                   // of size, so far
	once() bool                    // it cannot be read again, and seek is called only with the start
	seek(at intake.Position) error // called once, before next
	// next returns the next entry, or errImported. After a badEntry it can be called again.
	next() (sourceEntry, error)
	position() intake.Position // behind what next returned last
	where() string             // what next returned last, for messages
	findings() []string        // about the whole source, when next has returned all
	close() error
}

// badEntry is an error about one entry, which can be skipped.
type badEntry struct {
	err error
}

func (e *badEntry) Error() string { return e.err.Error() }

// Unwrap returns the cause.
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

// importFile is a regular file that is read from any place. It is not safe for concurrent use.
type importFile struct {
	f    *os.File
	info os.FileInfo
}

func openImport(path string) (*importFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file, which this import needs so that it can go "+
			"on after an interrupt", path)
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return &importFile{f: f, info: info}, nil
}

func (f *importFile) size() int64  { return f.info.Size() }
func (f *importFile) close() error { return f.f.Close() }
