package stoat

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Errors from opening a database.
var (
	// ErrLocked reports that another process, or another DB in this process, has the directory
	// open. The message names the owner's process id.
	ErrLocked = vfs.ErrLocked
	// ErrFormat reports a directory that is not a database, or is one of a newer version of Stoat.
	ErrFormat = corrupt.ErrFormat
	// ErrKey reports an encrypted database without its [Options.Key] or with another one, or a key
	// for a database that is not encrypted. Opening has changed nothing.
	ErrKey = corrupt.ErrKey
)

// Errors from using a database or a transaction.
var (
	// ErrClosed reports that the database has been closed.
	ErrClosed = engine.ErrClosed
	// ErrTxClosed reports the use of a transaction that has ended, or of one of its buckets,
	// cursors or scans.
	ErrTxClosed = errors.New("transaction is closed")
	// ErrReadOnly reports a write in a read-only transaction or a read-only database.
	ErrReadOnly = engine.ErrReadOnly
	// ErrPoisoned reports that an earlier write or sync of the log failed. What reached the disk is
	// unknown, so the database refuses writes until it is reopened. Reads still work.
	ErrPoisoned = engine.ErrPoisoned
	// ErrDeadlock reports a write to the DB, or another call that waits for the writer's turn,
	// inside the function of a [DB.Update] of the same DB on the same goroutine.
	ErrDeadlock = engine.ErrDeadlock
	// ErrNoSpace reports that the device or the quota is full.
	ErrNoSpace = vfs.ErrNoSpace
	// ErrLagged reports that a loop over changes missed some, because they are no longer available;
	// [DB.Watch] says how to continue.
	ErrLagged = commit.ErrLagged
	// ErrCorrupt reports damage found in a file; the message says where.
	ErrCorrupt = corrupt.Err
)

// Errors from operations on keys and buckets.
var (
	// ErrNotFound reports that the bucket has no such key.
	ErrNotFound = errors.New("key not found")
	// ErrBucketNotFound reports a bucket that does not exist, or that this transaction dropped.
	ErrBucketNotFound = errors.New("bucket not found")
	// ErrBucketExists reports that a bucket of this name already exists.
	ErrBucketExists = errors.New("bucket already exists")
	// ErrInvalidKey reports an empty key or bucket name.
	ErrInvalidKey = errors.New("invalid key: a key or bucket name has 1 to 65,535 bytes, not 0")
	// ErrTooLarge reports a key, bucket name or value that exceeds the limit.
	ErrTooLarge = errors.New("too large")
)

// errReadTx is returned by a write in a read-only transaction.
var errReadTx = fmt.Errorf("write in an Update: %w", ErrReadOnly)

// errManaged is returned by Commit inside View and Update.
var errManaged = errors.New(
	"commit of a transaction that View or Update manages: return nil from the function instead")

// errPreparing is returned by Commit inside a BeforeCommit function, and after one panicked.
var errPreparing = errors.New("the transaction is already being committed: return from the " +
	"function given to BeforeCommit, or roll back")

// checkKey returns an error unless key is a valid key or bucket name.
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

// openError wraps err with the directory and with advice on what to do.
func openError(dir string, readOnly bool, err error) error {
	advice := ""
	switch {
	case errors.Is(err, ErrLocked):
		advice = " (close it there, set Options.LockTimeout to wait, or set Options.ReadOnly to share)"
	case errors.Is(err, ErrKey):
		advice = " (set Options.Key to the key that the database was created with, or to nil if it " +
			"is not encrypted)"
	case errors.Is(err, corrupt.ErrElsewhere): // it says what to do
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
