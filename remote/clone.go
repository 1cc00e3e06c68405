package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/internal/clonestore"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// CloneOptions configures what [Clone] clones. The zero value and a nil *CloneOptions mean the
// newest commit that was shipped.
type CloneOptions struct {
	// Position, Commit and Time say of when, as those of [RestoreOptions].
	Position stoat.Position
	Commit   uint64
	Time     time.Time

	// Name is a name for people of the parent, such as where it is, of up to 255 bytes; it is in the
	// clone. Default: "".
	Name string
}

// Clone makes a database of its own, in the store own, of what the one in the store parent has, or
// had at some moment: its clone. No file is copied, so it takes some requests, however large the
// database is, and the clone takes what it writes itself. Neither notices what the other one does.
// Clone returns the commit that the clone begins with, and when that was shipped, or the clone was
// made if an earlier Clone did. Requests that fail are made again for some seconds.
//
// The clone is in the store that [CloneStore] returns; everything that takes a store takes that
// one. It needs its parent's store until it is detached ([DB.Detach]): for that, the parent has a
// pin whose name begins with "clone-". To give up a clone, remove that pin, and all objects of its
// store. Both have the same identity, as copies have, but the positions of one mean nothing in the
// other.
//
// The store own must be empty, or have what an earlier Clone of the same database has left: after
// an error, or a crash, Clone goes on where that ended. It also puts back the pin of a clone that
// exists, if what that needs was kept. For another database, the error matches
// [objstore.ErrExists]. If the parent's store encrypts, that of the clone must, with whichever key.
func Clone(
	ctx context.Context, own, parent objstore.Store, opts *CloneOptions,
) (Moment, error) {
	if opts == nil {
		opts = new(CloneOptions)
	}
	m, err := clone(ctx, own, parent, opts)
	if err != nil {
		return Moment{}, fmt.Errorf("clone a database in object storage: %w", err)
	}
	return m, nil
}

func clone(
	ctx context.Context, own, parent objstore.Store, o *CloneOptions,
) (m Moment, err error) {
	if objstore.Encrypts(parent) && !objstore.Encrypts(own) {
		return m, fmt.Errorf("the store of the parent encrypts, and that of the clone does not; use the "+
			"one that cryptstore.Open returns: %w", stoat.ErrKey)
	}
	from, err := archive.New(retry.Persistent(parent))
	if err != nil {
		return m, err
	}
	to, err := archive.New(retry.Persistent(own))
	if err != nil {
		return m, err
	}
	when := archive.When{Position: engine.Position(o.Position), Commit: o.Commit, Time: o.Time}
	commit, at, err := from.Clone(ctx, to, when, o.Name)
	return Moment{commit, clock(at)}, err
}

// CloneStore returns the store of a clone ([Clone]), given its own store and that of its parent, in
// which it only reads. If the parent is a clone, too, its store is another CloneStore. A store that
// encrypts, or does anything else, comes inside: CloneStore must be the outermost. [Open] makes no
// database in it: without a clone, the error is [ErrNone].
func CloneStore(own, parent objstore.Store) objstore.Store { return clonestore.New(own, parent) }

// Detach makes a clone independent of its parent: it copies the files that the clone has not
// replaced yet, or still keeps for its retention, and then removes the clone's pin from the parent.
// It returns what was copied. A file of the parent is in memory at a time. Requests that fail are
// made again for some seconds; after an error, Detach goes on where it ended. From then on, the
// clone needs its own store only. What clones of the clone need is copied, too; one that was made
// at the moment of a collection may have to be detached first, as the error says. If the database
// is no clone, nothing happens.
func (db *DB) Detach(ctx context.Context) (copied Usage, err error) {
	u, err := db.shipper.Detach(ctx)
	if err != nil {
		err = fmt.Errorf("detach a clone: %w", err)
	}
	return Usage(u), err
}

// OriginInfo describes what a clone has of its parent.
type OriginInfo struct {
	Name   string // that was given to Clone
	Commit uint64 // with which the clone began
	Pin    string // the name of its pin in the parent

	// Needed is the files that only the parent has: those of the newest commit, and, without bytes,
	// those that are kept for the retention and for pins of the clone. Without any, the parent is not
	// needed any more: [DB.Detach] says so, and removes the pin.
	Needed Usage
}

func originInfo(c *archive.Contents) *OriginInfo {
	origin := c.End.Origin
	return &OriginInfo{
		Name: origin.Name, Commit: origin.Commit, Pin: history.ClonePin(c.End.Claims[0].ID),
		Needed: Usage(c.Lent),
	}
}
