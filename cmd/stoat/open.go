package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
)

// open opens the database in dir, with the command's key, and says what to do if that fails.
func open(s *stdio, dir string, opts *stoat.Options) (*stoat.DB, error) {
	if dir == "" {
		return nil, cmdline.Usagef("the name of the database is empty")
	}
	if s.key != nil {
		var sealed stoat.Options
		if opts != nil {
			sealed = *opts
		}
		sealed.Key = s.key
		opts = &sealed
	}
	s.shipped = isShipped(dir)
	db, err := stoat.Open(dir, opts)
	if err == nil {
		return db, nil
	}
	inner := errors.Unwrap(err) // without the advice meant for programmers
	switch {
	case errors.Is(err, stoat.ErrKey):
		return nil, fmt.Errorf("%s: %w: give the key that the database was created with by -%s, or "+
			"none if it is not encrypted", dir, inner, keyFileFlag)
	case errors.Is(err, corrupt.ErrElsewhere):
		return nil, fmt.Errorf("the database at %s is not all here: %w", dir, inner)
	case errors.Is(err, stoat.ErrCorrupt):
		return nil, fmt.Errorf("the database at %s is damaged: %w", dir, inner) // run says what to do
	case errors.Is(err, fs.ErrNotExist) && opts != nil && opts.ReadOnly:
		return nil, fmt.Errorf("there is no database at %s: check the path, or create one with "+
			"\"stoat put %s KEY VALUE\"", dir, dir)
	case errors.Is(err, stoat.ErrLocked):
		return nil, fmt.Errorf("%s: %w: end that process first; the commands that only read work "+
			"meanwhile", dir, inner)
	case errors.Is(err, stoat.ErrNoSpace):
		return nil, fmt.Errorf("%s: %w: make room on its disk first", dir, inner)
	}
	return nil, err
}

// isShipped reports whether package remote ships the database in dir, which then may lack files.
func isShipped(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), folder.ClaimPrefix)
	})
}

// view runs fn with a snapshot of an existing database, and changes nothing. It warns about damage
// and reads the rest.
func view(s *stdio, dir string, fn func(tx *stoat.Tx) error) error {
	db, err := open(s, dir, &stoat.Options{ReadOnly: true, Logger: slog.New(warnings{s.err})})
	if err != nil {
		return err
	}
	return errors.Join(db.View(fn), db.Close())
}

// update runs fn with a writable transaction of the database, which it creates if necessary.
func update(s *stdio, dir string, fn func(tx *stoat.Tx) error) error {
	db, err := open(s, dir, nil)
	if err != nil {
		return err
	}
	return closeAfter(s, db, db.Update(fn))
}

// closeAfter closes a database that was open for writing, and returns outcome, the error of the
// work before. Work that succeeded is durable: if only closing fails, it prints a warning and
// returns no error, because the log keeps whatever closing could not move, and the next command
// tries again.
func closeAfter(s *stdio, db *stoat.DB, outcome error) error {
	err := db.Close()
	switch {
	case errors.Is(outcome, stoat.ErrNoSpace) && errors.Is(err, stoat.ErrNoSpace):
		return outcome // one message is enough
	case outcome != nil || err == nil:
		return errors.Join(outcome, err)
	}
	advice := ""
	if errors.Is(err, stoat.ErrNoSpace) {
		advice = "; make room on its disk"
	}
	_, err = fmt.Fprintf(s.err, "stoat: warning: everything is stored, but closing left work for "+
		"the next command that writes: %v%s\n", err, advice)
	return err
}
