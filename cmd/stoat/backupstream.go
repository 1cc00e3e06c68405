package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// errNoBackup is the error of restore for a stream that is cut short or damaged.
var errNoBackup = errors.New("not a complete backup; nothing was restored")

// streamWriter counts what goes to standard output. It is not safe for concurrent use.
type streamWriter struct {
	w       io.Writer
	line    *progress.Line
	written int64
}

// Write implements io.Writer.
func (w *streamWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.written += int64(n)
	w.line.Add(int64(n))
	return n, err
}

// backupStream writes a backup of an existing database to standard output.
func backupStream(ctx context.Context, dir string, c *copying) error {
	s := c.s
	switch {
	case c.link:
		return cmdline.Usagef("-link needs a directory to back up to, but - is standard output")
	case s.outTerminal:
		return cmdline.Usagef("a backup is not text for a terminal: redirect it, like " +
			"\"stoat backup DB - > FILE\"")
	}
	for tries := 1; ; tries++ {
		db, err := open(s, dir, &stoat.Options{ReadOnly: true, Logger: slog.New(warnings{s.err})})
		if err != nil {
			return err
		}
		began, err := c.send(ctx, db)
		err = errors.Join(err, db.Close())
		switch {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrNotExist) && !began && tries < backupTries:
			continue // another process has replaced files since the database was opened
		case ctx.Err() != nil:
			err = errInterrupted
		}
		if began {
			err = fmt.Errorf("%w; what was written is not a backup", err)
		}
		return err
	}
}

// send writes a backup to standard output; began reports whether any of it got there.
func (c *copying) send(ctx context.Context, db *stoat.DB) (began bool, err error) {
	s := c.s
	st := db.Stats()
	line := newProgress(s, "backup", int64(st.TableBytes+st.ValueFileBytes))
	defer line.Finish()
	to := &streamWriter{w: s.unbuffered, line: line}
	buffered := bufio.NewWriterSize(to, 1<<20)
	if c.rekeyed {
		err = db.BackupToWithKey(ctx, buffered, c.key)
	} else {
		err = db.BackupTo(ctx, buffered)
	}
	if err == nil {
		err = buffered.Flush()
	}
	return to.written > 0, err
}

// restoreStream makes a new database, with a key or none, of a stream, in a file or on standard
// input.
func restoreStream(ctx context.Context, s *stdio, name, to string, key []byte) error {
	in, err := openInput(ctx, s, name)
	if err != nil {
		return err
	}
	defer in.close()
	line := newProgress(s, "restore", in.size())
	err = stoat.RestoreWithKey(ctx, &watchedInput{in, line}, to, s.key, key)
	if err == nil {
		// After the end of the backup there is padding, which must be drained for its writer to
		// end.
		_, err = io.Copy(io.Discard, in)
	}
	line.Finish()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w; nothing was restored", errInterrupted)
	case errors.Is(err, stoat.ErrCorrupt):
		return fmt.Errorf("%s: %v: %w", in.name, err, errNoBackup)
	case errors.Is(err, stoat.ErrKey):
		return fmt.Errorf("%s: %w: give the key of the backup by -%s, or none if it is not encrypted",
			in.name, err, keyFileFlag)
	case err != nil:
		return fmt.Errorf("%s: %w", in.name, err)
	}
	files, size, err := diskUsage(to)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "restored %s to %s: %s, %s\n", in.name, to,
		progress.Bytes(float64(size)), progress.Counted(int64(files), "file"))
	return err
}

// watchedInput is an input with a progress line.
type watchedInput struct {
	*input
	line *progress.Line
}

// Read implements io.Reader.
func (w *watchedInput) Read(p []byte) (int, error) {
	n, err := w.input.Read(p)
	w.line.Add(w.read - w.line.Done())
	return n, err
}
