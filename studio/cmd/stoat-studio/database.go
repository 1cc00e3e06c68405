package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/keyfile"
	"github.com/stoatdb/stoat/studio"
)

// openStudio returns the studio of the database, and what closes both.
func openStudio(o *options) (h *studio.Handler, close func() error, err error) {
	opts := new(stoat.Options)
	if o.keyFile != "" {
		if opts.Key, err = keyfile.Read(os.ReadFile, o.keyFile); err != nil {
			return nil, nil, err
		}
	}
	h, err = studio.Follow(o.db, opts, nil)
	if err != nil {
		return nil, nil, explain(o, err)
	}
	if !o.write {
		return h, h.Close, nil
	}
	if err := h.Close(); err != nil { // it was opened to find out that there is a database
		return nil, nil, err
	}
	db, err := stoat.Open(o.db, opts)
	if err != nil {
		return nil, nil, explain(o, err)
	}
	return studio.New(db, &studio.Options{Write: true}), db.Close, nil
}

// explain returns the error of opening the database with what the user can do, instead of the
// advice for programmers.
func explain(o *options, err error) error {
	inner := errors.Unwrap(err)
	switch {
	case inner == nil:
		return err
	case errors.Is(err, stoat.ErrKey):
		return fmt.Errorf("%s: %w: give the key that the database was created with by -key-file, or "+
			"none if it is not encrypted", o.db, inner)
	case errors.Is(err, stoat.ErrCorrupt):
		return fmt.Errorf("the database at %s is damaged: %w; keep a copy of the directory, then "+
			"restore a backup or run \"stoat salvage %s NEW\"", o.db, inner, o.db)
	case errors.Is(err, stoat.ErrFormat):
		return fmt.Errorf("%s: %w", o.db, inner)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no database at %s: check the path", o.db)
	case errors.Is(err, stoat.ErrLocked):
		return fmt.Errorf("%s: %w: end that process first, or look without -write", o.db, inner)
	}
	return err
}
