package main

import (
	"context"
	"errors"
	"fmt"
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
nothing of them is in the database. The dump may be compressed with gzip or
zstd.`,
		min: 1, max: 2,
		flags: newFlags(),
		run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			in, err := openDump(ctx, s, args[1:])
			if err != nil {
				return err
			}
			defer in.close()
			return bulkLoad(ctx, s, args[0], in)
		},
	}
}

// bulkLoad reads a dump into a database in one transaction.
func bulkLoad(ctx context.Context, s *stdio, dir string, from *input) error {
	lines := newLineReader(from)
	version, err := readHeader(lines, from.name) // before the database is created
	if err == nil {
		err = noteVersion(s.err, from.name, version)
	}
	if err != nil {
		return err
	}
	db, err := open(dir, nil)
	if err != nil {
		return err
	}
	l := &bulkLoader{
		from: from, lines: lines, progress: newProgress(s, "bulk-load", from.size()),
	}
	start := time.Now()
	err = l.run(ctx, db)
	took := time.Since(start)
	l.progress.Finish()
	if err != nil {
		if !l.ended && !errors.Is(err, errInterrupted) {
			err = fmt.Errorf("%s line %d: %w", from.name, lines.number, err)
		}
		err = fmt.Errorf("%w; nothing was loaded", err)
	}
	if err := closeAfter(s, db, err); err != nil {
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
	from     *input
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
		e, end, err := rootEntry(line)
		if err != nil {
			return err
		}
		if end {
			break
		}
		if !yield(e.key, e.value) {
			return nil // Load says why
		}
		l.entries++
		l.bytes += int64(len(e.key) + len(e.value))
		l.progress.Add(l.from.read - l.progress.Done())
	}
	if _, err := l.lines.next(); !errors.Is(err, errCutShort) {
		return errMore
	}
	l.ended = true
	return nil
}

// rootEntry returns the entry of the root bucket that is on a line; end reports that it is the last
// line instead.
func rootEntry(line []byte) (e entry, end bool, err error) {
	r, err := parseRecord(line)
	if err != nil {
		return e, false, err
	}
	k, err := r.kind()
	switch at := r.path(); {
	case err != nil:
		return e, false, err
	case k == headerKind:
		return e, false, errSecondHeader
	case len(at) > 0:
		return e, false, fmt.Errorf("this belongs to the bucket %s, and only the root bucket can be "+
			"bulk-loaded: use \"stoat load\"", at.String())
	case k == bucketKind:
		return e, false, errors.New("this is a sequence, and only keys and values can be bulk-loaded: " +
			"use \"stoat load\"")
	case k == endKind:
		return e, true, nil
	case r.Expires != nil:
		return e, false, errors.New("this expires, and only keys and values that stay can be " +
			"bulk-loaded: use \"stoat load\"")
	}
	return r.entry(), false, nil
}
