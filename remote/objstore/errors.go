package objstore

import "errors"

// Errors of stores, found with errors.Is. [Store] says what they mean.
var (
	// ErrExists reports that the name of a new object is taken.
	ErrExists = errors.New("object exists")
	// ErrUnknown reports that nobody knows whether an object was stored, or will be.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNotExist reports that there is no such object.
	ErrNotExist = errors.New("object does not exist")
	// ErrDenied reports a request that the store refuses to whoever makes it: credentials are missing
	// or wrong, or lack a right. Others have to change that first, so another try is of little use.
	ErrDenied = errors.New("not permitted")
	// ErrName reports a name that objects cannot have.
	ErrName = errors.New("invalid name of an object")
	// ErrUnfit reports that a store lacks something that databases need.
	ErrUnfit = errors.New("store is unfit for databases")
)
