package studio

import (
	"context"

	"github.com/stoatdb/stoat"
)

// source is where the database of a handler comes from. It is safe for concurrent use.
type source interface {
	// acquire returns the database, which stays open until release is called. It waits for it as
	// long as ctx lasts.
	acquire(ctx context.Context) (db *stoat.DB, release func(), err error)
	follows() bool // another process may write the database
	name() string  // the folder, if it is known
	close() error
}

// opened is a database of the program, which closes it itself.
type opened struct{ db *stoat.DB }

func (o opened) acquire(context.Context) (*stoat.DB, func(), error) { return o.db, func() {}, nil }
func (opened) follows() bool                                        { return false }
func (opened) name() string                                         { return "" }
func (opened) close() error                                         { return nil }
