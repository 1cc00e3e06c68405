package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/objstore"
)

// RestoreOptions configures what [Restore] restores. The zero value and a nil *RestoreOptions mean
// the newest commit that was shipped.
type RestoreOptions struct {
	// Position is that of the commit to restore, by whichever writer. A position that was lost with
	// its writer is [ErrLost]. Default: 0, which means no position.
	Position stoat.Position

	// Commit is the number of the commit to restore, as [Info] and [PinInfo] have it. It has no effect
	// beside a Position. Default: 0, which means no commit.
	Commit uint64

	// Time restores what was shipped by then, by the clocks of the writers. It has no effect beside a
	// Position or a Commit. Default: zero, which means no time.
	Time time.Time

	// Key encrypts the copy, as [stoat.Options.Key]. Default: nil, which means that it is not
	// encrypted, even if the store is.
	Key []byte
}

// Restore makes dir, a folder that is missing or empty, a copy of the database in the store. All of
// it is verified before it counts. If something is damaged or missing, Restore goes on to the end,
// so that the error names all of it, up to some 20 files. The copy is a database of its own: it
// opens with [stoat.Open], and does not continue the one in the store. If there is none, the error
// is [ErrNone].
//
// Any commit within [Options.Retention], or after one that is pinned, can be restored, unless it
// came to the store in tables, together with later ones: because it had left the local log before
// it was shipped, or stood beside a transaction that did not fit into memory. Then the error is
// [ErrNotKept].
func Restore(
	ctx context.Context, store objstore.Store, dir string, opts *RestoreOptions,
) error {
	if opts == nil {
		opts = new(RestoreOptions)
	}
	if err := restore(ctx, store, dir, *opts); err != nil {
		return fmt.Errorf("restore a database to %s: %w", dir, err)
	}
	return nil
}

func restore(ctx context.Context, store objstore.Store, dir string, o RestoreOptions) error {
	settings, _ := hook.From(ctx)
	files, err := sealedWith(settings.FS, o.Key)
	if err != nil {
		return err
	}
	a, err := archive.New(store)
	if err != nil {
		return err
	}
	when := archive.When{Position: engine.Position(o.Position), Commit: o.Commit, Time: o.Time}
	return a.Restore(ctx, files, dir, when)
}
