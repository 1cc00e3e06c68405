package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/meter"
)

// lineBytesMax bounds a line of a dump: the largest value, every byte of it escaped.
const lineBytesMax = int64(7 * valueBytesMax)

func loadCommand() *command {
	return &command{
		name:      "load",
		arguments: "DB [FILE]",
		summary:   "read what dump has written into a database",
		details: fmt.Sprintf(`
Without FILE, or if it is -, the dump comes from standard input. The database is
created if need be; what it holds already stays, unless the dump has the same
key or bucket's sequence.

The lines are loaded in transactions of up to %s entries or %d MiB. If a
line makes no sense, or the dump is cut short, the error says how many lines are
safe in the database; it has those and none of the others. Loading again from
the start does no harm.`, countText(batchEntriesMax), batchBytesMax>>20),
		min: 1, max: 2,
		flags: newFlags(),
		run: func(s *stdio, args []string) error {
			if len(args) == 1 || args[1] == "-" {
				return load(s, args[0], "standard input", s.in, 0)
			}
			return loadFile(s, args[0], args[1])
		},
	}
}

func loadFile(s *stdio, db, name string) error {
	f, size, err := openDump(name)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	return load(s, db, name, f, size)
}

// openDump opens the file of a dump and returns its size, 0 if that is unknown.
func openDump(name string) (f *os.File, size int64, err error) {
	if f, err = os.Open(name); err != nil {
		return nil, 0, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return f, size, nil
}

// load reads a dump of about size bytes into a database. The name is for messages.
func load(s *stdio, dir, name string, from io.Reader, size int64) error {
	lines := &lineReader{r: bufio.NewReaderSize(from, 1<<16)}
	if err := readHeader(lines); err != nil { // before the database is created
		return fmt.Errorf("%s line 1: %w", name, err)
	}
	db, err := open(dir, nil)
	if err != nil {
		return err
	}
	l := &loader{
		batch:    batch{db: db},
		lines:    lines,
		progress: newProgress(s, "load", size),
		loaded:   1,
	}
	err = l.run()
	l.batch.rollback()
	l.progress.Finish()
	if err != nil {
		err = fmt.Errorf("%s line %d: %w; the lines before line %d are loaded, none after",
			name, lines.number, err, l.loaded+1)
	}
	return errors.Join(err, db.Close())
}

func readHeader(lines *lineReader) error {
	line, err := lines.next()
	if err != nil {
		return err
	}
	r, err := parseRecord(line)
	if err != nil {
		r = new(record) // whatever it is, it is no header
	}
	return r.checkHeader()
}

// loader writes the records of one dump.
type loader struct {
	batch    batch
	lines    *lineReader
	progress *meter.Line
	loaded   int // the last line that is durable with all before it

	// The bucket of the last record, which is often that of the next one too.
	tx *stoat.Tx
	at path
	in bucket
}

// run reads all lines after the header.
func (l *loader) run() error {
	for {
		line, err := l.lines.next()
		if err != nil {
			return err
		}
		end, err := l.line(line)
		if err != nil {
			return err
		}
		if end {
			break
		}
		l.progress.Add(int64(len(line)))
	}
	if err := l.batch.commit(); err != nil {
		return err
	}
	l.loaded = l.lines.number
	if _, err := l.lines.next(); !errors.Is(err, errCutShort) {
		return errMore
	}
	return nil
}

// line writes what is on one line; end reports whether it is the last one.
func (l *loader) line(line []byte) (end bool, err error) {
	r, err := parseRecord(line)
	if err != nil {
		return false, err
	}
	k, err := r.kind()
	if err != nil || k == endKind {
		return true, err
	}
	if k == headerKind {
		return false, errSecondHeader
	}
	b, err := l.bucket(r.path())
	if err != nil {
		return false, err
	}
	if k == bucketKind {
		err = b.SetSequence(*r.Sequence)
	} else {
		err = b.Put(r.entry())
	}
	if err != nil {
		return false, err
	}
	committed, err := l.batch.wrote(len(line))
	if committed && err == nil {
		l.loaded = l.lines.number
	}
	return false, err
}

// bucket returns the bucket to write to in the transaction of the batch.
func (l *loader) bucket(at path) (bucket, error) {
	tx, err := l.batch.begin()
	if err != nil {
		return nil, err
	}
	if tx == l.tx && slices.Equal(at, l.at) {
		return l.in, nil
	}
	b, err := at.create(tx)
	if err != nil {
		return nil, err
	}
	l.tx, l.at, l.in = tx, at, b
	return b, nil
}

// What can be wrong with the lines of a dump, taken together.
var (
	errCutShort     = errors.New("the dump is cut short: its last line is not {\"end\":true}")
	errMore         = errors.New("there is more after the end of the dump")
	errSecondHeader = errors.New("a second header: load one dump at a time")
)

// lineReader reads lines and counts them.
type lineReader struct {
	r      *bufio.Reader
	number int // of the line that next returned, from 1
	line   []byte
}

// next returns the next line, which is valid until the call after; errCutShort if there is none.
func (l *lineReader) next() ([]byte, error) {
	l.number++
	l.line = l.line[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.line = append(l.line, part...)
		switch {
		case int64(len(l.line)) > lineBytesMax:
			return nil, errors.New("longer than any line of a dump")
		case err == nil, errors.Is(err, io.EOF) && len(l.line) > 0:
			return l.line, nil
		case errors.Is(err, io.EOF):
			return nil, errCutShort
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
