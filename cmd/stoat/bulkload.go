package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

func bulkLoadCommand() *command {
	flags := cmdline.NewFlags()
	into := bucketFlag(flags)
	return &command{
		Name:      "bulk-load",
		Arguments: "DB [FILE]",
		Summary:   "load a dump of one bucket fast, all or nothing",
		Details: `
Without FILE, or if it is -, the dump is read from standard input. The database
is created if necessary. Existing keys stay, unless the dump has the same key.

The dump has the format of "stoat dump", but may hold only one bucket, no keys
that expire, and no sequence other than 0; use load for everything else. With
-bucket, lines for the root bucket, which any program can write, go to that
bucket, as do lines that name it. All keys go straight to tables in one
transaction of any size; keys in ascending order load fastest. After an error or
an interrupt the database has none of them. The dump may be compressed with gzip
or zstd.`,
		Min: 1, Max: 2,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			in, err := openDump(ctx, s, args[1:])
			if err != nil {
				return err
			}
			defer in.close()
			return bulkLoad(ctx, s, args[0], *into, in)
		},
	}
}

// bulkLoad reads a dump into a bucket of a database in one transaction.
func bulkLoad(ctx context.Context, s *stdio, dir string, into path, from *input) error {
	lines := newLineReader(from)
	version, err := readHeader(lines, from.name) // before the database is created
	if err == nil {
		err = noteVersion(s.err, from.name, version)
	}
	if err != nil {
		return err
	}
	db, err := open(s, dir, nil)
	if err != nil {
		return err
	}
	l := &bulkLoader{
		into: into, from: from, lines: lines, progress: newProgress(s, "bulk-load", from.size()),
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
		progress.Bytes(float64(l.bytes)), progress.Duration(took),
		progress.Bytes(progress.Per(l.bytes, took)))
	return err
}

// countedEntries returns a count of entries and its noun.
func countedEntries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return progress.Count(n) + " entries"
}

// bulkLoader reads the entries of one dump. It is not safe for concurrent use.
type bulkLoader struct {
	into     path
	from     *input
	lines    *lineReader
	progress *progress.Line
	entries  int64
	bytes    int64 // of their keys and values
	ended    bool  // the last line was read
	err      error // why reading stopped
}

// run loads all lines after the header.
func (l *bulkLoader) run(ctx context.Context, db *stoat.DB) error {
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	names := make([][]byte, len(l.into))
	for i, name := range l.into {
		names[i] = []byte(name)
	}
	err := db.LoadBucket(loading, names, func(yield func(key, value []byte) bool) {
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
		e, k, err := l.entry(line)
		if err != nil {
			return err
		}
		if k == endKind {
			break
		}
		if k == bucketKind {
			continue
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

// entry returns the entry that is on a line, if it is one: the kind says what it is else.
func (l *bulkLoader) entry(line []byte) (e entry, k kind, err error) {
	r, err := parseRecord(line)
	if err != nil {
		return e, 0, err
	}
	k, err = r.kind()
	switch at := r.path(); {
	case err != nil:
		return e, 0, err
	case k == headerKind:
		return e, 0, errSecondHeader
	case len(at) > 0 && !slices.Equal(at, l.into):
		return e, 0, fmt.Errorf("this belongs to the bucket %s, and only one bucket can be bulk-loaded: "+
			"say which with -bucket, or use \"stoat load\"", at.String())
	case k == bucketKind && *r.Sequence > 0:
		return e, 0, errors.New("this is a sequence, and only keys and values can be bulk-loaded: use " +
			"\"stoat load\"")
	case r.Expires != nil:
		return e, 0, errors.New("this expires, and only keys and values that stay can be bulk-loaded: " +
			"use \"stoat load\"")
	}
	return r.entry(), k, nil
}
