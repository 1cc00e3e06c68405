package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/sparse"
)

// TakeOver makes the reader's process the writer of the database, with a folder that is missing or
// empty: what [Open] does on an empty folder, with less to read, since a reader has followed the
// log: it is a standby. The writer before loses the role, as with Open, whether it runs or not:
// nothing that it has shipped is lost, and nothing that it ships later counts.
//
// Files that are in the store stay there, and are read through the reader's cache, until
// compactions have replaced them by new ones in the folder. The next [Open] of that folder keeps
// its cache in it ([Options.CacheBytes]). Only this package opens such a folder: for the others,
// files are missing.
//
// Once TakeOver has returned a database, the reader is closed, and its open transactions go on. If
// it returns an error, the reader goes on; but the writer before may have lost the role, and then
// the database has no writer until the next TakeOver or Open. Requests that fail are made again
// until ctx ends ([Reader.Status] says since when and why); once TakeOver has returned, ctx has no
// effect.
func (r *Reader) TakeOver(ctx context.Context, dir string, opts *Options) (*DB, error) {
	settings, _ := hook.Of(opts)
	db, err := r.takeOver(ctx, dir, opts.withDefaults(), settings)
	if err != nil {
		return nil, fmt.Errorf("take over a database in object storage: %w", err)
	}
	return db, nil
}

// takeOver is TakeOver as the settings say.
func (r *Reader) takeOver(
	ctx context.Context, dir string, o Options, settings hook.Settings,
) (*DB, error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.closed {
		return nil, stoat.ErrClosed
	}
	if err := o.check(r.store.Store); err != nil {
		return nil, err
	}
	files, err := sealedWith(settings.FS, o.Database.Key)
	if err != nil {
		return nil, err
	}
	if err := engine.Vacant(files, dir); err != nil {
		return nil, err
	}
	db, err := newDB(ctx, r.store, &o)
	if err == nil {
		err = r.takeOverAs(ctx, db, files, dir, o, settings)
	}
	if err != nil {
		return nil, err
	}
	return db, nil
}

// takeOverAs opens a database that is not open, in a folder of a file system that encrypts as the
// options say, and closes the reader.
func (r *Reader) takeOverAs(
	ctx context.Context, db *DB, files vfs.FS, dir string, o Options, settings hook.Settings,
) error {
	db.far = &lazyFar{far: r.far}
	settle := func(replica *engine.Replica, w *history.Writer) error {
		err := db.shipper.Settle(ctx, w, replica, sparse.Over(files, db.far), dir)
		if err == nil {
			err = db.openFolder(dir, o.Database, settings)
		}
		return err
	}
	if err := r.tail.TakeOver(ctx, db.shipper.Log(), db.shipper.Successor, settle); err != nil {
		return err
	}
	r.closed = true // its files are those of the database now
	r.far.Unwatch()
	if err := r.DB.Close(); err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}
