package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/ship"
	"github.com/stoatdb/stoat/remote/objstore"
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
)

// Durability says when a commit returns.
type Durability uint8

const (
	// Async means: once it is on the local disk, as [stoat.Options] say. What was not shipped is lost
	// with that disk.
	Async Durability = iota
	// Wait means: once it is in the store, too, and synced here, whatever [stoat.Options] say. No
	// reader of this process sees it before. It takes one answer of the store, or two while others are
	// on their way; concurrent commits share requests.
	//
	// The context that a transaction was begun with ends the wait, too: then the error is ErrUnknown.
	// A commit that fails with ErrFenced is in the folder and not in the store. It gets there only if
	// the other writer ends before it has written anything, and the folder is opened again. If the
	// error also matches objstore.ErrUnknown, it may be in the store already.
	Wait
)

// windowOfWait is how many log objects are on their way at a time. The model has explored two.
const windowOfWait = 2

// Options configures how [Open] opens a database. The zero value and a nil *Options mean the
// defaults.
type Options struct {
	// Database is for the local database. It must not be read-only. With a Key, the folder is
	// encrypted, with its cache, and the store must be one of package cryptstore. Default: nil.
	Database *stoat.Options

	// Durability says when a commit returns. Default: Async.
	Durability Durability

	// Interval is for how long commits wait for others to be shipped with. A longer one means fewer
	// requests, and more that is lost with the folder, or, with Wait, slower commits. Default: 0,
	// which means a second with Async, and at once with Wait.
	Interval time.Duration

	// MaxLag bounds what is lost with the folder: while a commit waits for longer than this,
	// transactions wait before they begin. Half of it bounds Interval. Default: 0, which means 30
	// seconds, or two intervals if that is longer.
	MaxLag time.Duration

	// Uploads is how many files are sent at a time, besides log objects. More of them take more
	// memory, as much as the store needs for a request: files themselves are not read into memory,
	// except one at a time of those that were there before Open. Default: 0, which means 4.
	Uploads int

	// Bandwidth is how many bytes a second are sent, at most. Log objects count, and do not wait for
	// files. With less than the database writes, what is shipped falls behind more and more. Default:
	// 0, which means no limit.
	Bandwidth int64

	// CloseTimeout is how long Close tries to ship what is left. Default: 0, which means 30 seconds.
	CloseTimeout time.Duration

	// Retention is for how long the store keeps what it takes to restore a commit, after the next
	// one. Readers that fall behind by more have to begin anew. Default: 0, which means 7 days.
	Retention time.Duration

	// LocalBytes is how much of the database stays in the folder, so that the database may be larger
	// than the disk: while tables and value files there take more, the oldest of those that the store
	// has are removed, and read from the store from then on, through the cache. Then reads may need
	// the store, as after [Reader.TakeOver], and only this package opens the folder. What the store
	// does not have yet always stays, also what a compaction is writing: an eighth of LocalBytes at a
	// time, or 64 MiB if that is more. The next one waits until the store has most of it. Default: 0,
	// which means that everything stays.
	LocalBytes int64

	// CacheBytes is how much the cache of files that are only in the store takes at most; see
	// [Reader.TakeOver]. Default: 0, which means 1 GiB.
	CacheBytes int64

	// FillCache has the files that are only in the store fetched into the cache, one after the other,
	// while there is room: so a machine that took over needs the store for reads less and less, and
	// not at all once CacheBytes is well above what they take. They are received with up to Bandwidth
	// bytes a second, too. Default: false.
	FillCache bool

	// Patience is how long a read tries to get what it needs from a store that does not answer, if
	// that is in no file here. Default: 0, which means 10 seconds.
	Patience time.Duration

	// Writer is a name for people of who writes, such as that of the machine, of up to 255 bytes.
	// Default: "".
	Writer string
}

const (
	defaultInterval  = time.Second
	defaultWait      = 30 * time.Second
	defaultRetention = 7 * 24 * time.Hour
	defaultUploads   = 4
)

// withDefaults returns o with every zero field set.
func (o *Options) withDefaults() (set Options) {
	if o != nil {
		set = *o
	}
	set.Interval = max(set.Interval, 0)
	if set.Durability == Async {
		set.Interval = orDefault(set.Interval, defaultInterval)
	}
	set.MaxLag = orDefault(set.MaxLag, max(defaultWait, 2*min(set.Interval, math.MaxInt64/2)))
	set.Interval = min(set.Interval, set.MaxLag/2)
	set.CloseTimeout = orDefault(set.CloseTimeout, defaultWait)
	set.Retention = orDefault(set.Retention, defaultRetention)
	set.Uploads = orDefault(set.Uploads, defaultUploads)
	set.Patience = orDefault(set.Patience, defaultPatience)
	set.Database = ownOptions(set.Database)
	return set
}

// check returns an error if o, with defaults, cannot be that of a writer in the store.
func (o *Options) check(store objstore.Store) error {
	switch {
	case o.Database.ReadOnly:
		return stoat.ErrReadOnly
	case o.Durability > Wait:
		return fmt.Errorf("option Durability is %d: it must be Async or Wait", o.Durability)
	}
	return wantSealed(store, o.Database)
}

// shipping returns how to ship.
func (o *Options) shipping() ship.Config {
	c := ship.Config{
		Writer: o.Writer, Interval: o.Interval, MaxLag: o.MaxLag, Window: 1, Uploads: o.Uploads,
		Rate: o.Bandwidth, Local: o.LocalBytes, Retention: o.Retention,
	}
	if o.Durability == Wait {
		c.Withhold, c.Window = true, windowOfWait
	}
	return c
}

func orDefault[N int | time.Duration](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}

// DB is an open database that ships itself. It is safe for concurrent use.
type DB struct {
	*stoat.DB
	shipper *ship.Shipper
	store   *meter
	far     *lazyFar
	wait    time.Duration
	part    int64 // how much a compaction writes at a time; 0 is the default
	closing sync.Once
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

// Ship returns when everything committed before the call is in the store.
func (db *DB) Ship(ctx context.Context) error { return db.shipper.Wait(ctx) }

// Confirm returns nil if this process was still the writer at a moment during the call. So nobody
// had committed anything before the call that this process does not know, and what was read just
// before the call was the newest. It makes one request, and one more for each log object that is on
// its way, and tries until ctx ends. If another process has opened the database for writing, the
// error is [ErrFenced].
func (db *DB) Confirm(ctx context.Context) error { return db.shipper.Confirm(ctx) }

// Collect deletes what nobody needs who restores a commit of the retention, or a pinned one
// ([Pin]), and returns how many objects it has deleted. A database does so by itself now and then,
// if there is something to delete.
func (db *DB) Collect(ctx context.Context) (deleted int, err error) {
	return db.shipper.Collect(ctx)
}

// Close ships what is committed and closes the local database. If the store does not answer in
// [Options.CloseTimeout], the error is [ErrUnshipped]: then the folder has everything, and the next
// Open ships the rest. Use this and not Close of the embedded DB.
func (db *DB) Close() (err error) {
	db.closing.Do(func() { err = db.close() })
	return err
}

func (db *DB) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), db.wait)
	defer cancel()
	if db.shipper.Wait(ctx) != nil { // what is missing, Stop reports
		db.far.hurry() // a store that does not answer would hold up what reads files
	}
	db.shipper.Closing()
	err := db.DB.Close()
	if err != nil {
		cancel() // what is in doubt here must not be shipped
	}
	return errors.Join(err, db.shipper.Stop(ctx), db.far.stop())
}

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
