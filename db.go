package stoat

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
	"weak"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine *engine.Engine
	// views holds the sessions of finished transactions of View for reuse. Only those are reused:
	// whatever a stale handle of one might do, it cannot write.
	views sync.Pool
	self  weak.Pointer[DB] // by which a [Ref] knows the database
}

// Open opens the database in the directory dir, and creates both if need be: the directory with
// mode 0700, files with 0600. Nil options are the defaults. A database is open for writing once at
// a time; if it is open elsewhere, the error is [ErrLocked].
//
// Opening after a clean Close reads one small file; after a crash it also replays the log. A new
// database is on disk when its first transaction has begun, or it is closed.
func Open(dir string, opts *Options) (*DB, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("open database %s: %w", dir, err)
	}
	return open(vfs.OS(), dir, opts, engine.Tuning{})
}

// OpenMemory returns an empty database that lives in memory only: the same engine, with nothing on
// disk and nothing kept after Close.
func OpenMemory(opts *Options) (*DB, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("open database in memory: %w", err)
	}
	return openMemory(opts, engine.Tuning{})
}

// openMemory is OpenMemory with an engine tuned for the occasion; internal/testing/tuned calls it
// by its name.
func openMemory(opts *Options, t engine.Tuning) (*DB, error) {
	o := opts.engine()
	if o.ReadOnly {
		return nil, fmt.Errorf("open database in memory: there would be nothing in it: %w", ErrReadOnly)
	}
	o.Volatile, o.Tuning = true, t
	return start(memfs.New(), "memory", o)
}

// open is Open on any file system, with an engine tuned for the occasion; internal/testing/tuned
// calls it by its name.
func open(fs vfs.FS, dir string, opts *Options, t engine.Tuning) (*DB, error) {
	o := opts.engine()
	o.Tuning = t
	return start(fs, dir, o)
}

func start(fs vfs.FS, dir string, o engine.Options) (*DB, error) {
	e, err := engine.Open(fs, dir, o)
	if err != nil {
		return nil, openError(dir, o.ReadOnly, err)
	}
	db := &DB{engine: e}
	db.self = weak.Make(db)
	db.views.New = func() any { return newReused() }
	return db, nil
}

// View runs fn with a read-only transaction: a snapshot of everything committed so far. It waits
// for nobody, nobody waits for it, and it allocates nothing, but for 1 KiB every 128 calls. It
// returns what fn returns or, if that is nil, [Tx.Err].
//
// The transaction ends when fn returns. Slices that came from it must not be used afterwards; all
// else returns [ErrTxClosed] then. If reading a mapped file fails inside fn, View returns the
// error; any other panic of fn goes on after the end of the transaction. View and Update may be
// called inside View.
func (db *DB) View(fn func(tx *Tx) error) (err error) {
	snap, err := db.engine.Snapshot()
	if err != nil {
		return err
	}
	s := db.views.Get().(*session)
	tx := s.begin(db, snap, nil)
	faults := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(faults)
		tx.rollback()
		db.views.Put(s)
		if r := recover(); r != nil {
			if err = vfs.FaultError(r); err == nil {
				panic(r)
			}
		}
	}()
	if err = fn(tx); err == nil {
		err = s.err
	}
	return err
}

// Update runs fn with a writable transaction and commits it if fn returns nil and [Tx.Err] is nil.
// Otherwise it rolls back and returns that error. When Update returns nil, the writes are visible
// to every later transaction and, under [SyncAlways], durable.
//
// There is one writable transaction at a time, and Update waits for its turn. Concurrent Updates
// are fine, and share syncs. Another write or Flush of the same DB inside Update, on the same
// goroutine, would wait for ever: it returns [ErrDeadlock] after 10 ms, or a little later while
// other Updates of the process are under way. Inside fn, [Tx.Commit] is an error, and
// [Tx.Rollback] makes Update return [ErrTxClosed] if fn returns nil.
//
// If fn panics, Update rolls back and the panic goes on. If reading a mapped file fails inside fn,
// Update rolls back and returns the error.
func (db *DB) Update(fn func(tx *Tx) error) error {
	return db.UpdateContext(context.Background(), fn)
}

// UpdateContext is [DB.Update], except that it waits for its turn, and for room while flushes are
// behind, only until ctx ends. The error matches that of ctx then, and says what it has waited for.
// A transaction that has begun goes on: fn may look at ctx and return its error.
func (db *DB) UpdateContext(ctx context.Context, fn func(tx *Tx) error) (err error) {
	tx, err := db.BeginContext(ctx, true)
	if err != nil {
		return err
	}
	tx.session.managed = true
	faults := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(faults)
		tx.rollback()
		if r := recover(); r != nil {
			if err = vfs.FaultError(r); err == nil {
				panic(r)
			}
		}
	}()
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
// [DB.View] and [DB.Update], which cannot forget it, and which turn a failure to read a mapped
// file, as when a disk breaks, into an error; in a transaction of Begin it ends the program.
//
// A read-only transaction is a snapshot; while it is open, the files it can see stay on disk. A
// writable one waits for its turn, and no other can write before it has ended.
func (db *DB) Begin(writable bool) (*Tx, error) {
	return db.BeginContext(context.Background(), writable)
}

// BeginContext is [DB.Begin], except that a writable transaction waits for its turn, and for room
// while flushes are behind, only until ctx ends, as [DB.UpdateContext] does. What happens to ctx
// afterwards is of no concern to the transaction.
func (db *DB) BeginContext(ctx context.Context, writable bool) (*Tx, error) {
	if !writable {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		snap, err := db.engine.Snapshot()
		if err != nil {
			return nil, err
		}
		return newSession().begin(db, snap, nil), nil
	}
	w, err := db.engine.BeginContext(ctx)
	if err != nil {
		return nil, err
	}
	return newSession().begin(db, nil, w), nil
}

// Get returns a copy of the value of key in the root bucket, in a transaction of its own. The error
// is [ErrNotFound] if there is none.
func (db *DB) Get(key []byte) (value []byte, err error) {
	err = db.View(func(tx *Tx) error {
		v, err := tx.Get(key)
		value = bytes.Clone(v)
		return err
	})
	return value, err
}

// Put stores value under key in the root bucket, in a transaction of its own. Many writes in one
// [DB.Update] cost far less than as many calls of Put.
func (db *DB) Put(key, value []byte) error {
	return db.Update(func(tx *Tx) error { return tx.Put(key, value) })
}

// PutTTL is [DB.Put] for a value that the database removes by itself when ttl has passed, as
// [Tx.PutTTL] does.
func (db *DB) PutTTL(key, value []byte, ttl time.Duration) error {
	return db.Update(func(tx *Tx) error { return tx.PutTTL(key, value, ttl) })
}

// Delete removes key from the root bucket, in a transaction of its own. It returns nil if there is
// no such key.
func (db *DB) Delete(key []byte) error {
	return db.Update(func(tx *Tx) error { return tx.Delete(key) })
}

// Sync makes everything durable that was committed before the call.
func (db *DB) Sync() error { return db.engine.Sync() }

// Flush writes what is in memory to tables, after the writable transaction that is open. The
// database does so by itself; Flush makes the next Open after a crash faster, and memory free
// sooner.
func (db *DB) Flush() error { return db.engine.Flush() }

// Compact writes everything committed before the call into one sorted run, with large values in the
// order of their keys, in as little disk space as it can. The database needs no such call: use it
// to make the files small and scans fast at once, such as before a database is copied or only read.
// It writes up to all of the data anew. When ctx ends, it stops and keeps what is done.
func (db *DB) Compact(ctx context.Context) error { return db.engine.Compact(ctx) }

// Close makes every commit durable and releases the directory. It compresses up to 64 MiB of large
// values that were just written, which takes a core about a quarter of a second; more of them stay
// in the log as they are until the database is open again. Read-only transactions still open
// may go on until they end; everything else gets [ErrClosed]. If it fails, the directory is
// released all the same. If the error is [ErrPoisoned], commits that were not synced may be lost;
// after any other, such as [ErrNoSpace], the log keeps what could not be tidied up, and the next
// Open reads it. Closing again does nothing.
func (db *DB) Close() error { return db.engine.Close() }
