package stoat

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Errors from opening a database.
var (
	// ErrLocked reports that another process, or another DB in this one, has the directory open.
	// The message names the owner's process id.
	ErrLocked = vfs.ErrLocked
	// ErrFormat reports a directory that is not a database, or one of a newer version of Stoat.
	ErrFormat = corrupt.ErrFormat
)

// Errors from the use of a database or a transaction.
var (
	// ErrClosed reports that the database was closed.
	ErrClosed = engine.ErrClosed
	// ErrTxClosed reports the use of a transaction that was committed or rolled back, or of one of
	// its buckets, cursors or loops.
	ErrTxClosed = errors.New("transaction is closed")
	// ErrReadOnly reports a write in a read-only transaction or a read-only database.
	ErrReadOnly = engine.ErrReadOnly
	// ErrPoisoned reports that an earlier write or sync of the log failed. What the disk holds of
	// it is unknown, so that the database refuses to write until it is opened again. Reads go on.
	ErrPoisoned = engine.ErrPoisoned
	// ErrDeadlock reports a write of the DB, or another call that waits for its turn among those that
	// write, inside the function of an [DB.Update] of the same DB on the same goroutine.
	ErrDeadlock = engine.ErrDeadlock
	// ErrNoSpace reports that the device or the quota is full.
	ErrNoSpace = vfs.ErrNoSpace
	// ErrLagged reports that a loop over changes has missed some, because they are no longer at hand;
	// [DB.Watch] says how to go on.
	ErrLagged = engine.ErrLagged
	// ErrCorrupt reports damage found in a file; the message says where.
	ErrCorrupt = corrupt.Err
)

// Errors from the operations on keys and buckets.
var (
	// ErrNotFound reports that the key is not in the bucket.
	ErrNotFound = errors.New("key not found")
	// ErrBucketNotFound reports a bucket that does not exist, or one dropped in this transaction.
	ErrBucketNotFound = errors.New("bucket not found")
	// ErrBucketExists reports that there already is a bucket of this name.
	ErrBucketExists = errors.New("bucket already exists")
	// ErrInvalidKey reports an empty key or bucket name.
	ErrInvalidKey = errors.New("invalid key: a key or bucket name has 1 to 65,535 bytes, not 0")
	// ErrTooLarge reports a key, bucket name or value that is longer than the limit.
	ErrTooLarge = errors.New("too large")
)

// errReadTx is what a write in a read-only transaction returns.
var errReadTx = fmt.Errorf("write in an Update: %w", ErrReadOnly)

// errManaged is what Commit returns inside View and Update.
var errManaged = errors.New(
	"commit of a transaction that View or Update manages: return nil from the function instead")

// errPreparing is what Commit returns inside a function of BeforeCommit, and after one panicked.
var errPreparing = errors.New("the transaction is already being committed: return from the " +
	"function given to BeforeCommit, or roll back")

// checkKey returns an error unless key can be a key or a bucket name.
func checkKey(key []byte) error {
	if len(key) == 0 {
		return ErrInvalidKey
	}
	if len(key) > keyspace.MaxKeyBytes {
		return fmt.Errorf("key or bucket name of %d bytes, the limit is 65,535: %w",
			len(key), ErrTooLarge)
	}
	return nil
}

// checkValue returns an error unless value can be stored.
func checkValue(value []byte) error {
	if len(value) > keyspace.MaxValueBytes {
		return fmt.Errorf("value of %d bytes, the limit is 1 GiB (1,073,741,824): %w",
			len(value), ErrTooLarge)
	}
	return nil
}

// openError returns err with the directory that it is about and what to do.
func openError(dir string, readOnly bool, err error) error {
	advice := ""
	switch {
	case errors.Is(err, ErrLocked):
		advice = " (close it there, set Options.LockTimeout to wait, or set Options.ReadOnly to share)"
	case errors.Is(err, ErrCorrupt):
		advice = " (keep a copy of the directory and restore a backup, or run: stoat salvage " +
			dir + " NEW)"
	case errors.Is(err, ErrNoSpace):
		advice = " (free some space, or set Options.ReadOnly)"
	case errors.Is(err, fs.ErrPermission):
		advice = " (the directory and its files must be this user's to read and write)"
	case readOnly && errors.Is(err, fs.ErrNotExist):
		advice = " (write to it, or open it without Options.ReadOnly to create a database)"
	}
	return fmt.Errorf("open database %s: %w%s", dir, err, advice)
}
