package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/meter"
)

func bulkLoadCommand() *command {
	return &command{
		name:      "bulk-load",
		arguments: "DB [FILE]",
		summary:   "load a dump of the root bucket fast, all or nothing",
		details: `
Without FILE, or if it is -, the dump comes from standard input. The database is
created if need be; what it holds already stays, unless the dump has the same
key.

The lines are those of dump and load, but only keys of the root bucket: load is
the command for all else. They go in one transaction of any size, straight to
tables; keys in ascending order are the fastest. After an error or an interrupt
nothing of them is in the database.`,
		min: 1, max: 2,
		flags: newFlags(),
		run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			if len(args) == 1 || args[1] == "-" {
				return bulkLoad(ctx, s, args[0], "standard input", s.in, 0)
			}
			f, size, err := openDump(args[1])
			if err != nil {
				return err
			}
			defer f.Close() // nothing was written
			return bulkLoad(ctx, s, args[0], args[1], f, size)
		},
	}
}

// bulkLoad reads a dump of about size bytes into a database in one transaction. The name is for
// messages.
func bulkLoad(
	ctx context.Context, s *stdio, dir, name string, from io.Reader, size int64,
) error {
	lines := &lineReader{r: bufio.NewReaderSize(from, 1<<16)}
	if err := readHeader(lines); err != nil { // before the database is created
		return fmt.Errorf("%s line 1: %w", name, err)
	}
	db, err := open(dir, nil)
	if err != nil {
		return err
	}
	l := &bulkLoader{lines: lines, progress: newProgress(s, "bulk-load", size)}
	start := time.Now()
	err = l.run(ctx, db)
	took := time.Since(start)
	l.progress.Finish()
	if err != nil {
		if !l.ended && !errors.Is(err, errInterrupted) {
			err = fmt.Errorf("%s line %d: %w", name, lines.number, err)
		}
		err = fmt.Errorf("%w; nothing was loaded", err)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s, %s in %s: %s/s\n", countedEntries(l.entries),
		byteText(float64(l.bytes)), durationText(took), byteText(per(l.bytes, took)))
	return err
}

// countedEntries returns a count of entries and its noun.
func countedEntries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return countText(n) + " entries"
}

// bulkLoader reads the entries of one dump. It is not safe for concurrent use.
type bulkLoader struct {
	lines    *lineReader
	progress *meter.Line
	entries  int64
	bytes    int64 // of their keys and values
	ended    bool  // the last line was read
	err      error // why reading stopped
}

// run loads all lines after the header.
func (l *bulkLoader) run(ctx context.Context, db *stoat.DB) error {
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	err := db.Load(loading, func(yield func(key, value []byte) bool) {
		if l.err = l.each(ctx, yield); l.err != nil {
			cancel() // which rolls back
		}
	})
	if l.err != nil {
		return l.err
	}
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// each yields the entries up to the last line, or until yield returns false.
func (l *bulkLoader) each(ctx context.Context, yield func(key, value []byte) bool) error {
	for {
		line, err := l.lines.next()
		if err != nil {
			return err
		}
		if err := interrupted(ctx); err != nil {
			return err
		}
		key, value, end, err := rootEntry(line)
		if err != nil {
			return err
		}
		if end {
			break
		}
		if !yield(key, value) {
			return nil // Load says why
		}
		l.entries++
		l.bytes += int64(len(key) + len(value))
		l.progress.Add(int64(len(line)))
	}
	if _, err := l.lines.next(); !errors.Is(err, errCutShort) {
		return errMore
	}
	l.ended = true
	return nil
}

// rootEntry returns the entry of the root bucket that is on a line; end reports that it is the last
// line instead.
func rootEntry(line []byte) (key, value []byte, end bool, err error) {
	r, err := parseRecord(line)
	if err != nil {
		return nil, nil, false, err
	}
	k, err := r.kind()
	switch at := r.path(); {
	case err != nil:
		return nil, nil, false, err
	case k == headerKind:
		return nil, nil, false, errSecondHeader
	case len(at) > 0:
		return nil, nil, false, fmt.Errorf("this belongs to the bucket %s, and only the root "+
			"bucket can be bulk-loaded: use \"stoat load\"", at.String())
	case k == bucketKind:
		return nil, nil, false, errors.New("this is a sequence, and only keys and values can be " +
			"bulk-loaded: use \"stoat load\"")
	case k == endKind:
		return nil, nil, true, nil
	}
	key, value = r.entry()
	return key, value, false, nil
}
