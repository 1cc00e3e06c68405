package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/internal/ship"
	"github.com/stoatdb/stoat/remote/internal/sparse"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Open opens the database in a store, creating it if there is none, with a folder that may be
// missing, and takes the role of its writer. The folder may also hold a database that no store has
// yet. If it does not continue what is in the store, the error is [ErrApart], and nothing changes.
// If the store has no database, but some objects of one, the error matches [objstore.ErrExists].
//
// Where the folder is empty and the store has the database, Open takes some round trips, whatever
// the size of the database: files stay in the store, and are read through a cache
// ([Options.CacheBytes]), as after [Reader.TakeOver]. With [Wait], Open returns once everything in
// the folder is in the store. The context is for that and the claim; once Open has returned, it has
// no effect.
//
// Requests that fail may be made again for some seconds, after which Open returns why they fail;
// what is not permitted ([objstore.ErrDenied]), it returns at once. But a claim whose outcome is
// unknown is made again until ctx ends, since it may have taken the role.
func Open(ctx context.Context, store objstore.Store, dir string, opts *Options) (*DB, error) {
	settings, _ := hook.Of(opts)
	db, err := open(ctx, store, dir, opts.withDefaults(), settings)
	if err != nil {
		return nil, fmt.Errorf("open database %s in object storage: %w", dir, err)
	}
	return db, nil
}

// open is Open as the settings say.
func open(
	ctx context.Context, store objstore.Store, dir string, o Options, settings hook.Settings,
) (*DB, error) {
	if err := o.check(store); err != nil {
		return nil, err
	}
	files, err := sealedWith(settings.FS, o.Database.Key)
	if err != nil {
		return nil, err
	}
	db, err := newDB(ctx, &meter{Store: store}, &o)
	if err != nil {
		return nil, err
	}
	db.far = &lazyFar{open: func(inMemory bool) (*far, error) {
		cache := filepath.Join(dir, folder.CacheName)
		if inMemory {
			cache = ""
		}
		database, claims, err := db.shipper.Claims(context.Background())
		if err != nil {
			return nil, err
		}
		return openFar(farConfig{
			store: db.store, patience: o.Patience, database: database, first: claims[0].ID, claims: claims,
			files: settings.FS, dir: cache, limit: o.CacheBytes, key: o.Database.Key,
			logger: o.Database.Logger, missing: func() {},
		})
	}}
	err = db.openWhere(ctx, files, dir, o, settings)
	if err == nil && o.Durability == Wait {
		err = db.awaitShipped(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.far.stop())
	}
	return db, nil
}

// awaitShipped returns once everything in the folder is in the store. Otherwise it closes the
// database.
func (db *DB) awaitShipped(ctx context.Context) error {
	err := db.shipper.Wait(ctx)
	if err == nil {
		return nil
	}
	ended, end := context.WithCancel(ctx)
	end()
	db.shipper.Closing()
	err = errors.Join(err, db.DB.Close())
	_ = db.shipper.Stop(ended) // what is missing, err says
	return err
}

// newDB returns a database that is not open. Its requests are for ctx, until it is.
func newDB(ctx context.Context, store *meter, o *Options) (*DB, error) {
	db := &DB{store: store, wait: o.CloseTimeout, part: o.partBytes()}
	log, err := archive.NewLog(db.store)
	if err == nil {
		config := o.shipping()
		if o.FillCache {
			config.Fetch = func(
				ctx context.Context, kind folder.Kind, number uint64, size int64, here io.ReaderAt,
				pass func(int) error, needed func(folder.Kind, uint64) bool,
			) (bool, error) {
				return db.far.fetch(ctx, kind, number, size, here, pass, needed)
			}
		}
		db.shipper = ship.New(ctx, log, config)
	}
	return db, err
}

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
