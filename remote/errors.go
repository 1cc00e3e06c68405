package remote

import (
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/ship"
)

// Errors, found with errors.Is.
var (
	// ErrFenced reports that another process has opened the database for writing, or is about to.
	ErrFenced = history.ErrFenced
	// ErrApart reports a folder that does not continue the database in the store.
	ErrApart = ship.ErrApart
	// ErrUnshipped reports that the newest commits are in the folder only.
	ErrUnshipped = ship.ErrUnshipped
	// ErrNone reports that there is no database in the store.
	ErrNone = history.ErrNone
	// ErrNotKept reports a commit that the store cannot restore, any more or by itself.
	ErrNotKept = history.ErrNotKept
	// ErrUnknown reports that a commit was not acknowledged in time: it is in the folder, and may be
	// in the store, or come there later.
	ErrUnknown = engine.ErrUnknown
	// ErrLost reports a position of a commit that was lost with its writer: another one has gone on
	// without it.
	ErrLost = history.ErrLost
	// ErrNoParent reports a clone that is used without the store of its parent, or with another one,
	// and a database that is no clone in the place of one.
	ErrNoParent = history.ErrNoParent
	// ErrUnpinned reports a clone whose pin in its parent was removed. Such an error also matches
	// [ErrNotKept]. [Clone] into the same store puts the pin back, if nothing was deleted yet.
	ErrUnpinned = history.ErrUnpinned
)
