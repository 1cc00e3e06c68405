package remote

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/ship"
	"github.com/stoatdb/stoat/remote/internal/sparse"
)

// openWhere opens the database in the folder, or else in the store.
func (db *DB) openWhere(
	ctx context.Context, files vfs.FS, dir string, o Options, settings hook.Settings,
) error {
	vacant, err := engine.IsVacant(files, dir)
	if err != nil {
		return err
	}
	var none error // of a vacant folder: the store has no database, either
	if vacant {
		none = db.openStored(ctx, files, dir, o, settings)
		if !errors.Is(none, ErrNone) {
			return none
		}
	}
	err = db.openFolder(dir, o.Database, settings)
	switch {
	case errors.Is(err, ship.ErrStored):
		return db.openStored(ctx, files, dir, o, settings)
	case errors.Is(err, stoat.ErrFormat) && vacant:
		return none // the folder has what an earlier try has left, and is no database
	}
	return err
}

// openStored opens the database that is in the store, with a folder that is empty or has what an
// earlier try has left: it reads the log and takes over at once.
func (db *DB) openStored(
	ctx context.Context, files vfs.FS, dir string, o Options, settings hook.Settings,
) error {
	identified := db.shipper.Identifying() // at the same time as the first requests
	r, err := openReader(ctx, db.store, filepath.Join(dir, folder.CacheName), ReaderOptions{
		Database: o.Database, CacheBytes: o.CacheBytes, Patience: o.Patience,
		Poll: never, PollMax: never,
	}, settings, true)
	if failed := identified(); failed != nil && !errors.Is(err, failed) {
		err = errors.Join(failed, err)
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	if err != nil {
		return err
	}
	lazy := db.far
	if err := r.takeOverAs(ctx, db, files, dir, o, settings); err != nil {
		db.far = lazy
		return errors.Join(err, r.Close())
	}
	return nil
}

// never is longer than it takes to open a database.
const never = 365 * 24 * time.Hour

// openFolder opens the local database and begins to ship it.
func (db *DB) openFolder(dir string, opts *stoat.Options, settings hook.Settings) error {
	own := *opts
	var failed error
	settings.Shipper = db.shipper
	if settings.Tuning.PartBytes == 0 {
		settings.Tuning.PartBytes, settings.Tuning.YoungBytes = db.part, youngParts*db.part
	}
	settings.Opened = func(e *engine.Engine) {
		_, claims, err := db.shipper.Claims(context.Background()) // the role is taken, so nobody is asked
		if err == nil {
			db.far.claimed(claims)
			err = db.shipper.Start(e)
		}
		failed = err
	}
	settings.Over = func(files vfs.FS) vfs.FS { return sparse.Over(files, db.far) }
	defer hook.Attach(&own, settings)()
	opened, err := stoat.Open(dir, &own)
	if err == nil && failed != nil {
		return errors.Join(failed, opened.Close())
	}
	db.DB = opened
	return err
}

const (
	// partShare of LocalBytes, as a divisor, is what a compaction writes at a time, but never less
	// than minPart, which is two tables, nor more than maxPart. As much may wait to be stored. Young
	// runs are only joined with each other if they have no more than youngParts times as much.
	partShare  = 8
	youngParts = 8
	minPart    = 64 << 20
	maxPart    = 512 << 20
)

// partBytes returns how much a compaction writes at a time; 0 is the default.
func (o *Options) partBytes() int64 {
	if o.LocalBytes <= 0 {
		return 0
	}
	return min(max(o.LocalBytes/partShare, minPart), maxPart)
}
