package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/remote"
)

// closeTimeout is how long a command tries to ship what is left, once it has failed or was
// interrupted.
const closeTimeout = 3 * time.Second

// databaseBytes returns the size of a database, which must exist.
func (s *stdio) databaseBytes(dir string) (int64, error) {
	if dir == "" {
		return 0, cmdline.Usagef("the name of the database is empty")
	}
	o := s.database()
	o.ReadOnly = true
	db, err := stoat.Open(dir, o)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no database at %s: check the path, or get one from a store with "+
			"\"stoat remote restore\"", dir)
	}
	if err != nil {
		return 0, err
	}
	stats := db.Stats()
	return int64(stats.TableBytes + stats.ValueFileBytes), db.Close()
}

// write runs fn with the database in a folder, as its writer. A retention of 0 is the usual one.
func (s *stdio) write(
	ctx context.Context, store *traffic, dir string, retention time.Duration, name string,
	fn func(db *remote.DB) error,
) error {
	host, _ := os.Hostname() // people can do without
	return s.patiently(store.trouble, func() error {
		db, err := remote.Open(ctx, store, dir, &remote.Options{
			Database: s.database(), Writer: "stoat remote " + name + " " + host, Retention: retention,
			CloseTimeout: closeTimeout,
		})
		if err != nil {
			return err
		}
		return errors.Join(fn(db), db.Close())
	})
}
