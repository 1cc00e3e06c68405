package boltcompat

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
)

// DB is an open database. Its exported fields are those of bbolt; they must not be changed while
// others use the DB. It is safe for concurrent use.
type DB struct {
	// StrictMode reads and verifies the whole database after each commit, and panics if it is
	// damaged.
	StrictMode bool
	// NoSync, set by [Options.NoSync], leaves commits to the system and to [DB.Sync]. Turned off
	// later, commits sync again; turned on later, it has no effect.
	NoSync bool
	// NoFreelistSync has no effect.
	NoFreelistSync bool
	// FreelistType has no effect.
	FreelistType FreelistType
	// NoGrowSync has no effect.
	NoGrowSync bool
	// PreLoadFreelist has no effect.
	PreLoadFreelist bool
	// MmapFlags has no effect.
	MmapFlags int
	// MaxBatchSize is the number of calls of [DB.Batch] that make one transaction; 0 or less means
	// that each has its own.
	MaxBatchSize int
	// MaxBatchDelay is how long a batch waits for more calls.
	MaxBatchDelay time.Duration
	// AllocSize has no effect.
	AllocSize int
	// MaxSize is the size in bytes that commits must not exceed; see [Options.MaxSize].
	MaxSize int
	// Mlock has no effect.
	Mlock bool

	using    usage
	in       *stoat.DB // nil if the DB is not open; guarded by using where no transaction is open
	path     string
	scratch  string // the directory to remove when the DB is closed, if any
	readOnly bool
	unsynced bool // opened with NoSync
	pageSize int
	logger   Logger

	counted bool // whether there are statistics
	txN     atomic.Int64
	txStats TxStats // of ended transactions

	batching sync.Mutex
	batch    *batch // the one that calls join; nil if there is none
}

// Info describes the memory of a database, which a Stoat database does not have in one piece.
type Info struct {
	Data     uintptr // always 0
	PageSize int     // the page size of the system, or that of the options
}

// Close waits until all transactions have ended, makes every commit durable and releases the
// database. Meanwhile, others begin only while a writable one is open, and only for reading, since
// that one may need them. Closing again does nothing.
func (db *DB) Close() error {
	db.using.lockUnused()
	defer db.using.mu.Unlock()
	if db.in == nil {
		return nil
	}
	err := translate(db.in.Close())
	db.in, db.path = nil, ""
	if db.scratch != "" {
		if removal := os.RemoveAll(db.scratch); err == nil {
			err = removal
		}
	}
	return err
}

// Begin starts a transaction, which the caller must end with [Tx.Commit] or [Tx.Rollback]. A
// writable one waits for its turn.
func (db *DB) Begin(writable bool) (*Tx, error) {
	tx, err := db.enter(writable)
	if err != nil {
		return nil, err
	}
	in, err := db.in.Begin(writable)
	if err != nil {
		tx.leave()
		return nil, translate(err)
	}
	tx.start(in)
	return tx, nil
}

// enter makes a transaction that keeps the database open, and that has not begun.
func (db *DB) enter(writable bool) (*Tx, error) {
	db.using.mu.Lock()
	defer db.using.mu.Unlock()
	switch {
	case db.in == nil:
		return nil, ErrDatabaseNotOpen
	case writable && db.readOnly:
		return nil, ErrDatabaseReadOnly
	case !db.using.enter(writable):
		return nil, ErrDatabaseNotOpen
	}
	return &Tx{db: db, writable: writable}, nil
}

// Update runs fn in a writable transaction, which it commits if fn returns nil, and rolls back
// otherwise. [Tx.Commit] and [Tx.Rollback] panic inside fn. An Update inside fn on the same
// goroutine returns [stoat.ErrDeadlock].
func (db *DB) Update(fn func(*Tx) error) error {
	tx, err := db.enter(true)
	if err != nil {
		return err
	}
	defer tx.abandon()
	err = db.in.Update(func(in *stoat.Tx) error {
		tx.start(in)
		return tx.run(fn)
	})
	return tx.finish(tx.outcome(err))
}

// View runs fn in a read-only transaction. [Tx.Rollback] panics inside fn.
func (db *DB) View(fn func(*Tx) error) error {
	tx, err := db.enter(false)
	if err != nil {
		return err
	}
	defer tx.abandon()
	return tx.outcome(db.in.View(func(in *stoat.Tx) error {
		tx.start(in)
		return tx.run(fn)
	}))
}

// Sync makes everything committed before the call durable. Only with [Options.NoSync] there may be
// commits that are not.
func (db *DB) Sync() error {
	db.using.mu.Lock()
	in := db.in
	db.using.mu.Unlock()
	if in == nil {
		return ErrDatabaseNotOpen
	}
	return translate(in.Sync()) // Close need not wait: it syncs, too
}

// check verifies the whole database.
func (db *DB) check() error { return db.in.Check(context.Background()) }

// Path returns the path of the database's directory, or "" after Close.
func (db *DB) Path() string { return db.path }

// IsReadOnly reports whether the database was opened with [Options.ReadOnly].
func (db *DB) IsReadOnly() bool { return db.readOnly }

// Logger returns the logger of the options, or one that drops everything.
func (db *DB) Logger() Logger {
	if db == nil || db.logger == nil {
		return discard()
	}
	return db.logger
}

// Info returns the page size. There is no pointer to the data.
func (db *DB) Info() *Info { return &Info{PageSize: db.pageSize} }

// String describes the database.
func (db *DB) String() string { return fmt.Sprintf("DB<%q>", db.path) }

// GoString describes the database in Go's syntax.
func (db *DB) GoString() string { return fmt.Sprintf("bolt.DB{path:%q}", db.path) }
