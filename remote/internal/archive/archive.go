// Package archive is the database as it is in a store, with or without a writer: it describes,
// verifies, pins, clones and restores it.
//
// An [Archive] finds out by itself which database that is. Only pins and clones write to a store,
// and nothing is ever deleted but a pin. A writer may run meanwhile: where it deletes what is being
// read, [Archive.Restore] and [Archive.Verify] begin anew.
//
// [NewLog] returns the log of a database in a store, for archives and for those who write it, or
// follow it.
package archive

import (
	"context"

	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Archive is the database in a store. Not safe for concurrent use.
type Archive struct{ log *history.Log }

// New returns the archive in a store. It makes no request.
func New(store objstore.Store) (*Archive, error) {
	log, err := NewLog(store)
	if err != nil {
		return nil, err
	}
	return &Archive{log}, nil
}

// Pin pins the end of the log.
func (a *Archive) Pin(ctx context.Context, name string) (*object.Pin, error) {
	if err := a.log.Identify(ctx); err != nil {
		return nil, err
	}
	return a.log.Pin(ctx, name)
}

// Pins returns the pins in the order of their names.
func (a *Archive) Pins(ctx context.Context) ([]history.NamedPin, error) {
	if err := a.log.Identify(ctx); err != nil {
		return nil, err
	}
	return a.log.Pins(ctx)
}

// Unpin removes a pin. It is no error if there is none.
func (a *Archive) Unpin(ctx context.Context, name string) error { return a.log.Unpin(ctx, name) }
