package replica

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// Errors of this package. Messages say what they are about.
var (
	// ErrTwoSpaces reports a transaction that writes to the collections of two spaces. Nobody who
	// has only one of them could keep its promise: use two transactions.
	ErrTwoSpaces = errors.New("a transaction cannot write to two spaces: use one for each")
	// ErrExists reports that a space of the name exists already: open it.
	ErrExists = errors.New("the space exists already: open it")
	// ErrNotFound reports that there is no space of the name: create or join it.
	ErrNotFound = errors.New("there is no such space: create or join it")
	// ErrInvalid reports entries from a peer that are not valid. They were not stored.
	ErrInvalid = errors.New("not valid")
	// ErrNotAllowed reports that a device may not do what it did, or tried to do. The message says
	// which grant it needs.
	ErrNotAllowed = session.ErrNotAllowed
	// ErrNewer reports something that needs a newer version of this package. Its log waits for the
	// update.
	ErrNewer = entry.ErrNewer
)

// invalid returns an error that is ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrInvalid)...)
}

// spaceError is an error of a space, with its name.
type spaceError struct {
	name string
	err  error
}

// Error implements error.
func (e *spaceError) Error() string { return fmt.Sprintf("space %q: %v", e.name, e.err) }

// Unwrap returns the error without the name.
func (e *spaceError) Unwrap() error { return e.err }

// wrap adds the name of the space to an error that does not have it; nil stays nil.
func wrap(name string, err error) error {
	var named *spaceError
	if err == nil || errors.As(err, &named) && named.name == name {
		return err
	}
	return &spaceError{name, err}
}

// unnamed returns an error without the name of the space, for who is told that besides.
func unnamed(err error) error {
	if named, ok := err.(*spaceError); ok {
		return named.err
	}
	return err
}
