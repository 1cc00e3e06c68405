package stoat

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine *engine.Engine
	sealed *cryptfs.FS // that the folder is in; nil if the database is not encrypted
	// views holds the sessions of finished View transactions for reuse. Only read-only sessions are
	// reused: whatever a stale handle does, it cannot write.
	views   sync.Pool
	readers atomic.Uint32    // sessions for readers that were made
	self    weak.Pointer[DB] // identifies the database in a [Ref]
}

// Open opens the database in the directory dir and creates both if they do not exist: the directory
// with mode 0700, files with mode 0600. A nil opts means the defaults. Only one process can have a
// database open for writing; if another DB has it open, the error is [ErrLocked].
//
// Opening after a clean Close reads one small file; after a crash it also replays the log. A new
// database is on disk once its first transaction has begun or it has been closed.
func Open(dir string, opts *Options) (*DB, error) {
	settings, _ := hook.Of(opts)
	if settings.FS == nil {
		settings.FS = vfs.OS()
		if err := opts.check(); err != nil {
			return nil, fmt.Errorf("open database %s: %w", dir, err)
		}
	}
	return open(dir, opts, settings)
}

// OpenMemory returns an empty database that lives in memory: the same engine, but nothing on disk
// and nothing left after Close.
func OpenMemory(opts *Options) (*DB, error) {
	settings, isTest := hook.Of(opts)
	if err := opts.check(); err != nil && !isTest {
		return nil, fmt.Errorf("open database in memory: %w", err)
	}
	o := opts.engine()
	if o.ReadOnly {
		return nil, fmt.Errorf("open database in memory: there would be nothing in it: %w", ErrReadOnly)
	}
	o.Volatile, o.Tuning = true, settings.Tuning
	return start(memfs.New(), "memory", o)
}

// open is Open as the settings say.
func open(dir string, opts *Options, settings hook.Settings) (*DB, error) {
	o := opts.engine()
	o.Tuning, o.Shipper = settings.Tuning, settings.Shipper
	key, err := opts.key()
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", dir, err)
	}
	files := settings.FS
	var sealed *cryptfs.FS
	if key != nil {
		sealed = cryptfs.New(files, key)
		files = sealed
	}
	if settings.Replica != nil {
		db := newDB(settings.Replica(o).Engine)
		db.sealed = sealed // for backups: it has no files
		return db, nil
	}
	if settings.Over != nil {
		files = settings.Over(files)
	}
	db, err := start(files, dir, o)
	if err != nil {
		return nil, err
	}
	db.sealed = sealed
	if settings.Opened != nil {
		settings.Opened(db.engine)
	}
	return db, nil
}

func start(fs vfs.FS, dir string, o engine.Options) (*DB, error) {
	e, err := engine.Open(fs, dir, o)
	if err != nil {
		return nil, openError(dir, o.ReadOnly, err)
	}
	return newDB(e), nil
}

func newDB(e *engine.Engine) *DB {
	db := &DB{engine: e}
	db.self = weak.Make(db)
	db.views.New = func() any {
		s := newReused()
		s.place = db.readers.Add(1)
		return s
	}
	return db
}

// View runs fn in a read-only transaction: a snapshot of everything committed so far. It never
// blocks, blocks nobody, and allocates only 1 KiB every 128 calls. It returns the error of fn or,
// if that is nil, [Tx.Err].
//
// The transaction ends when fn returns. Slices that came from it must not be used afterwards; its
// other handles return [ErrTxClosed] from then on. If reading a mapped file fails inside fn, View
// returns the error; any other panic in fn propagates after the transaction has ended. View and
// Update may be called inside View.
func (db *DB) View(fn func(tx *Tx) error) (err error) {
	s := db.views.Get().(*session)
	snap, err := db.engine.Snapshot(s.place)
	if err != nil {
		db.views.Put(s)
		return err
	}
	tx := s.begin(db, snap, nil)
	defer recoverFault(debug.SetPanicOnFault(true), &err)
	defer func() {
		tx.rollback()
		db.views.Put(s)
	}()
	if err = fn(tx); err == nil {
		err = s.err
	}
	return err
}

// Update runs fn in a writable transaction and commits it if fn returns nil and [Tx.Err] is nil.
// Otherwise it rolls back and returns that error. Once Update returns nil, the writes are visible
// to every later transaction and, with [SyncAlways], durable.
//
// Only one writable transaction is open at a time; Update waits for its turn. Concurrent Updates
// are fine and share syncs. Calling Update, another write or Flush of the same DB on the same
// goroutine inside fn would deadlock: it returns [ErrDeadlock] after 10 ms, or slightly later while
// other Updates of the process are in progress. Inside fn, [Tx.Commit] returns an error, and
// [Tx.Rollback] makes Update return [ErrTxClosed] if fn returns nil.
//
// If fn panics, Update rolls back and the panic propagates. If reading a mapped file fails inside
// fn, Update rolls back and returns the error.
func (db *DB) Update(fn func(tx *Tx) error) error {
	return db.UpdateContext(context.Background(), fn)
}

// UpdateContext is [DB.Update], but waits for its turn, and for room while flushes are behind, only
// until ctx is done. The error then matches that of ctx and says what it waited for. Once begun,
// the transaction ignores ctx: fn may check it and return its error.
func (db *DB) UpdateContext(ctx context.Context, fn func(tx *Tx) error) (err error) {
	tx, err := db.BeginContext(ctx, true)
	if err != nil {
		return err
	}
	tx.session.managed = true
	defer recoverFault(debug.SetPanicOnFault(true), &err)
	defer tx.rollback()
	err = tx.session.w.Run(func() error {
		if err := fn(tx); err != nil {
			return err
		}
		return tx.prepare()
	})
	if err != nil {
		return err
	}
	return tx.finish()
}

// Begin starts a transaction that the caller must end with [Tx.Commit] or [Tx.Rollback]. Prefer
// [DB.View] and [DB.Update]: they always end the transaction, and they turn a failure to read a
// mapped file, such as that of a broken disk, into an error. In a transaction from Begin, such a
// failure crashes the program.
//
// A read-only transaction is a snapshot; the files it can see stay on disk while it is open. A
// writable one waits for its turn, and no other can write until it ends.
func (db *DB) Begin(writable bool) (*Tx, error) {
	return db.BeginContext(context.Background(), writable)
}

// BeginContext is [DB.Begin], but a writable transaction waits for its turn, and for room while
// flushes are behind, only until ctx is done, as in [DB.UpdateContext]. Once begun, the transaction
// ignores ctx.
func (db *DB) BeginContext(ctx context.Context, writable bool) (*Tx, error) {
	if !writable {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := newSession()
		s.place = db.readers.Add(1)
		snap, err := db.engine.Snapshot(s.place)
		if err != nil {
			return nil, err
		}
		return s.begin(db, snap, nil), nil
	}
	w, err := db.engine.BeginContext(ctx)
	if err != nil {
		return nil, err
	}
	return newSession().begin(db, nil, w), nil
}

// Get returns a copy of the value of key in the root bucket, read in a transaction of its own. The
// error is [ErrNotFound] if the key does not exist.
func (db *DB) Get(key []byte) (value []byte, err error) {
	err = db.View(func(tx *Tx) error {
		v, err := tx.Get(key)
		value = bytes.Clone(v)
		return err
	})
	return value, err
}

// Put stores value under key in the root bucket, in a transaction of its own. Many writes in one
// [DB.Update] are far cheaper than as many calls of Put.
func (db *DB) Put(key, value []byte) error {
	return db.Update(func(tx *Tx) error { return tx.Put(key, value) })
}

// PutTTL is [DB.Put] for a value that expires after ttl, as with [Tx.PutTTL].
func (db *DB) PutTTL(key, value []byte, ttl time.Duration) error {
	return db.Update(func(tx *Tx) error { return tx.PutTTL(key, value, ttl) })
}

// Delete removes key from the root bucket, in a transaction of its own. It returns nil if the key
// does not exist.
func (db *DB) Delete(key []byte) error {
	return db.Update(func(tx *Tx) error { return tx.Delete(key) })
}

// Sync makes everything committed before the call durable.
func (db *DB) Sync() error { return db.engine.Sync() }

// Flush writes the memtables to tables, after the open writable transaction, if any, has ended. The
// database flushes by itself; call Flush to make the next Open after a crash faster and to free
// memory sooner.
func (db *DB) Flush() error { return db.engine.Flush() }

// Compact rewrites everything committed before the call as one sorted run, with large values in key
// order, in as little disk space as possible. The database compacts by itself; call Compact to make
// the files small and scans fast right away, for instance before copying a database or opening it
// read-only. It may rewrite all data. When ctx is done it stops and keeps what it has finished.
func (db *DB) Compact(ctx context.Context) error { return db.engine.Compact(ctx) }

// Close makes every commit durable and releases the directory. It takes milliseconds, whatever
// was written: if more than half a megabyte is not in tables yet, Close leaves it uncompressed, and
// the database compresses it in a pause of the commits once it is open again. Open read-only
// transactions may continue until they end; everything else returns [ErrClosed].
//
// The directory is released even if Close fails. After [ErrPoisoned], commits that were not synced
// may be lost; after any other error, such as [ErrNoSpace], the log still has everything that could
// not be tidied up, and the next Open replays it. Closing again does nothing.
func (db *DB) Close() error { return db.engine.Close() }

// recoverFault, when deferred, turns a failure to read a mapped file into *err and lets any other
// panic propagate. It restores the setting that debug.SetPanicOnFault returned.
func recoverFault(before bool, err *error) {
	debug.SetPanicOnFault(before)
	if r := recover(); r != nil {
		if *err = vfs.FaultError(r); *err == nil {
			panic(r)
		}
	}
}
