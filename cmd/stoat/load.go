package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// lineBytesMax bounds a line of a dump: the largest value, every byte of it escaped.
const lineBytesMax = int64(7 * valueBytesMax)

func loadCommand() *command {
	return &command{
		Name:      "load",
		Arguments: "DB [FILE]",
		Summary:   "load a dump into a database",
		Details: fmt.Sprintf(`
Without FILE, or if it is -, the dump is read from standard input. The database
is created if necessary. Existing keys stay, unless the dump has the same key;
so do the sequences of buckets.

The lines are loaded in transactions of up to %s entries or %d MiB. If a
line is invalid, the dump is cut short, or an interrupt ends the command, the
error says how many lines are safe in the database; it has those and no others.
Loading again from the start is harmless. The dump may be compressed with gzip
or zstd.`, progress.Count(batchEntriesMax), batchBytesMax>>20),
		Min: 1, Max: 2,
		Flags: cmdline.NewFlags(),
		Run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			in, err := openDump(ctx, s, args[1:])
			if err != nil {
				return err
			}
			defer in.close()
			return load(ctx, s, args[0], in)
		},
	}
}

// openDump opens the dump that the arguments after the database name.
func openDump(ctx context.Context, s *stdio, args []string) (*input, error) {
	name := "-"
	if len(args) > 0 {
		name = args[0]
	}
	in, err := openInput(ctx, s, name)
	if errors.Is(err, errInterrupted) {
		err = errNothingLoaded
	}
	return in, err
}

// load reads a dump into a database.
func load(ctx context.Context, s *stdio, dir string, from *input) error {
	lines := newLineReader(from)
	version, err := readHeader(lines, from.name) // before the database is created
	if err != nil {
		return err
	}
	db, err := open(s, dir, nil)
	if err != nil {
		return err
	}
	l := &loader{
		ctx:      ctx,
		batch:    batch{db: db},
		from:     from,
		lines:    lines,
		progress: newProgress(s, "load", from.size()),
		version:  version,
		loaded:   1,
	}
	err = l.run()
	l.batch.rollback()
	l.progress.Finish()
	if err == nil {
		err = compactLoaded(ctx, s, db)
	}
	return closeAfter(s, db, errors.Join(l.outcome(err), l.note(s.err)))
}

// note tells the user what is notable about the dump.
func (l *loader) note(w io.Writer) (err error) {
	err = noteVersion(w, l.from.name, l.version)
	if l.expired > 0 && err == nil {
		_, err = fmt.Fprintf(w, "stoat: note: of %s, %s had expired and were not loaded\n", l.from.name,
			countedEntries(l.expired))
	}
	return err
}

// outcome adds to the error that ended the load how much is in the database.
func (l *loader) outcome(err error) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, errInterrupted):
		return fmt.Errorf("%s line %d: %w; the lines before line %d are loaded, none after",
			l.from.name, l.lines.number, err, l.loaded+1)
	case l.loaded == 1:
		return errNothingLoaded
	}
	return fmt.Errorf("%w; the lines before line %d of %s are loaded, none after: load it again from "+
		"the start, which does no harm", errInterrupted, l.loaded+1, l.from.name)
}

// noteVersion says what a dump of an old version lacks.
func noteVersion(w io.Writer, name string, version int) error {
	if version > dumpWithoutExpiry {
		return nil
	}
	_, err := fmt.Fprintf(w, "stoat: note: %s is a dump of version %d, which does not say when "+
		"entries expire: all of them stay\n", name, version)
	return err
}

// readHeader reads the first line of a dump and returns the version of its format. Messages call
// the dump by name.
func readHeader(lines *lineReader, name string) (version int, err error) {
	line, err := lines.next()
	if errors.Is(err, errInterrupted) {
		return 0, errNothingLoaded
	}
	r := new(record)
	if err == nil {
		if parsed, parseErr := parseRecord(line); parseErr == nil {
			r = parsed // it is some other record, and not a header
		}
		err = r.checkHeader()
	}
	if err != nil {
		return 0, fmt.Errorf("%s line 1: %w", name, err)
	}
	return *r.Stoat, nil
}

// loader writes the records of one dump.
type loader struct {
	ctx      context.Context
	batch    batch
	from     *input
	lines    *lineReader
	progress *progress.Line
	version  int   // of the dump
	loaded   int   // the last line that is durable with all before it
	expired  int64 // entries whose time was over

	// The bucket of the last record, which is often the bucket of the next one too.
	tx *stoat.Tx
	at path
	in stoat.KeySpace
}

// run reads all lines after the header.
func (l *loader) run() error {
	for {
		line, err := l.lines.next()
		if err != nil {
			return err
		}
		if err := interrupted(l.ctx); err != nil {
			return err
		}
		end, err := l.line(line)
		if err != nil {
			return err
		}
		if end {
			break
		}
		l.progress.Add(l.from.read - l.progress.Done())
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
		err = l.put(b, r.entry())
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

// put writes an entry, and deletes the key if the entry has expired.
func (l *loader) put(b stoat.KeySpace, e entry) error {
	if e.expires.IsZero() {
		return b.Put(e.key, e.value)
	}
	if l.version == dumpWithoutExpiry {
		return fmt.Errorf("a time of expiry, which a dump of version %d does not have", l.version)
	}
	if !e.expires.After(time.Now()) {
		l.expired++
	}
	return b.PutUntil(e.key, e.value, e.expires)
}

// bucket returns the bucket to write to in the transaction of the batch.
func (l *loader) bucket(at path) (stoat.KeySpace, error) {
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

// errNothingLoaded is returned by a load that was interrupted before anything of it was durable.
var errNothingLoaded = fmt.Errorf("%w; nothing was loaded", errInterrupted)

// lineReader reads lines and counts them.
type lineReader struct {
	r      *bufio.Reader
	number int // of the line that next returned, from 1
	line   []byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 1<<16)}
}

// next returns the next line, which is valid until the following call, or errCutShort if none is
// left.
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
