package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/keyfile"
)

// view runs fn with a snapshot of the database, without taking its lock. A missing database is
// empty: a command of the shell may create it.
func (s *shell) view(fn func(tx *stoat.Tx) error) error {
	opts := &stoat.Options{ReadOnly: true}
	if s.keyFile != "" {
		var err error
		if opts.Key, err = keyfile.Read(os.ReadFile, s.keyFile); err != nil {
			return err
		}
	}
	db, err := stoat.Open(s.db, opts)
	if errors.Is(err, fs.ErrNotExist) {
		db, err = stoat.OpenMemory(nil)
	}
	if err != nil {
		return err
	}
	return errors.Join(db.View(fn), db.Close())
}

// find returns the bucket at a path.
func find(tx *stoat.Tx, path []string) (stoat.KeySpace, error) {
	var b stoat.KeySpace = tx
	for _, name := range path {
		next, err := b.Bucket([]byte(name))
		if err != nil {
			return nil, err
		}
		b = next
	}
	return b, nil
}
