package boltcompat

import (
	"errors"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/stoatdb/stoat"
)

// Errors from opening a database. They are bbolt's own values, as all errors here: a program that
// compares with those of go.etcd.io/bbolt/errors finds them, too.
var (
	// ErrDatabaseNotOpen reports a DB that is closed or was never opened.
	ErrDatabaseNotOpen = bolterrors.ErrDatabaseNotOpen
	// ErrInvalid reports a path with something else than a database, such as a file of bbolt. The
	// error says what it is; compare with errors.Is.
	ErrInvalid = bolterrors.ErrInvalid
	// ErrInvalidMapping is never returned.
	ErrInvalidMapping = bolterrors.ErrInvalidMapping
	// ErrVersionMismatch is never returned.
	ErrVersionMismatch = bolterrors.ErrVersionMismatch
	// ErrChecksum reports damage in a file; the error says where, and matches [stoat.ErrCorrupt],
	// too. Compare with errors.Is.
	ErrChecksum = bolterrors.ErrChecksum
	// ErrTimeout reports that another process, or another DB of this one, has the database open.
	// The Logger of the options is told which one.
	ErrTimeout = bolterrors.ErrTimeout
)

// Errors from transactions.
var (
	// ErrTxNotWritable reports a write in a read-only transaction.
	ErrTxNotWritable = bolterrors.ErrTxNotWritable
	// ErrTxClosed reports the use of a transaction that has ended.
	ErrTxClosed = bolterrors.ErrTxClosed
	// ErrDatabaseReadOnly reports a writable transaction in a database opened with ReadOnly.
	ErrDatabaseReadOnly = bolterrors.ErrDatabaseReadOnly
	// ErrFreePagesNotLoaded is never returned.
	ErrFreePagesNotLoaded = bolterrors.ErrFreePagesNotLoaded
)

// Errors from operations on keys and buckets.
var (
	// ErrBucketNotFound reports a bucket that does not exist.
	ErrBucketNotFound = bolterrors.ErrBucketNotFound
	// ErrBucketExists reports a bucket that exists already.
	ErrBucketExists = bolterrors.ErrBucketExists
	// ErrBucketNameRequired reports an empty name of a bucket.
	ErrBucketNameRequired = bolterrors.ErrBucketNameRequired
	// ErrKeyRequired reports an empty key.
	ErrKeyRequired = bolterrors.ErrKeyRequired
	// ErrKeyTooLarge reports a key of more than [MaxKeySize] bytes.
	ErrKeyTooLarge = bolterrors.ErrKeyTooLarge
	// ErrValueTooLarge reports a value of more than [MaxValueSize] bytes.
	ErrValueTooLarge = bolterrors.ErrValueTooLarge
	// ErrMaxSizeReached reports that [Options.MaxSize] leaves no room.
	ErrMaxSizeReached = bolterrors.ErrMaxSizeReached
	// ErrIncompatibleValue reports a key where a bucket was meant, or a bucket where a key was.
	ErrIncompatibleValue = bolterrors.ErrIncompatibleValue
	// ErrSameBuckets reports a bucket that should move to where it is.
	ErrSameBuckets = bolterrors.ErrSameBuckets
	// ErrDifferentDB reports a bucket that should move into another database or transaction.
	ErrDifferentDB = bolterrors.ErrDifferentDB
)

// translate returns the error of bbolt that an error of Stoat corresponds to: the value itself
// where it says everything, since programs compare with ==, or an error that matches both.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, stoat.ErrTxClosed):
		return ErrTxClosed
	case errors.Is(err, stoat.ErrReadOnly):
		return ErrTxNotWritable
	case errors.Is(err, stoat.ErrClosed):
		return ErrDatabaseNotOpen
	case errors.Is(err, stoat.ErrBucketNotFound):
		return ErrBucketNotFound
	case errors.Is(err, stoat.ErrBucketExists):
		return ErrBucketExists
	case errors.Is(err, stoat.ErrLocked):
		return ErrTimeout
	case errors.Is(err, stoat.ErrFormat):
		return both(ErrInvalid, err)
	case errors.Is(err, stoat.ErrCorrupt):
		return both(ErrChecksum, err)
	}
	return err
}

// matching is an error with the text of one, which matches another one, too.
type matching struct {
	error
	also error
}

func both(bolt, err error) error { return matching{err, bolt} }

// Unwrap lets errors.Is find either.
func (m matching) Unwrap() []error { return []error{m.error, m.also} }

// failure is what a method without an error panics with if it cannot read.
type failure struct{ error }

// Unwrap lets errors.Is find the cause.
func (f failure) Unwrap() error { return f.error }

// caught turns the panic of a failed read into its error; other panics go on.
func caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = translate(p.error)
	default:
		panic(p)
	}
}

// assert panics like bbolt if the program misuses a transaction.
func assert(holds bool, what string) {
	if !holds {
		panic("assertion failed: " + what)
	}
}
