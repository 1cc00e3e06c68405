// Package corrupt names damage found in a file: which file, where, and what is wrong with it.
//
// Every parser of Stoat reports bytes that it cannot trust through this package, so that one
// errors.Is with [Err] recognises damage of any kind. Errors are immutable and safe for concurrent
// use. The reader of a file, not this package, decides whether damage is a torn tail or
// corruption.
package corrupt

import (
	"errors"
	"fmt"
)

// Err is the sentinel that every [Error] matches with errors.Is.
var Err = errors.New("corrupt data")

// ErrFormat reports a file or folder that is not Stoat's, or is of a format newer than this code.
var ErrFormat = errors.New("unknown format")

// ErrKey reports an encrypted file that the given keys do not open, or a file that is not encrypted
// among those that should be.
var ErrKey = errors.New("wrong key")

// ErrElsewhere reports a file that is missing where it may be kept elsewhere: nothing may be lost,
// and a salvage would lose what is in it.
var ErrElsewhere = errors.New("the file may be elsewhere")

// IsLasting reports whether an error says what bytes are, so that reading them again fails again.
func IsLasting(err error) bool {
	return errors.Is(err, Err) || errors.Is(err, ErrFormat) || errors.Is(err, ErrKey)
}

// Error is damage at one place of one file.
type Error struct {
	File   string // the file's name, as opened
	Offset int64  // where the damaged unit starts, in bytes
	Reason string // what is wrong, in a few words

	elsewhere bool // it also matches ErrElsewhere
}

// New returns an [Error] whose reason is formatted as by fmt.Sprintf.
func New(file string, offset int64, format string, args ...any) error {
	return &Error{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// NewElsewhere returns an [Error] about a whole file that also matches [ErrElsewhere]. Its reason
// is formatted as by fmt.Sprintf.
func NewElsewhere(file, format string, args ...any) error {
	return &Error{File: file, Reason: fmt.Sprintf(format, args...), elsewhere: true}
}

// Missing returns the error of a whole file that is named and not there. A claim is the name of the
// file that says that the folder is that of a database in object storage; it is empty if there is
// none.
func Missing(file, claim string) error {
	if claim == "" {
		return New(file, 0, "the file is missing; restore it from a copy")
	}
	return NewElsewhere(file, "the file is missing; as %s says, the directory is shipped to object "+
		"storage, and files may be only there: open it with package remote, or read the store with "+
		"\"stoat remote get\" or \"stoat remote restore\"; a salvage would lose them", claim)
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("corrupt data in %s at offset %d: %s", e.File, e.Offset, e.Reason)
}

// Is reports whether target is [Err], or [ErrElsewhere] if the error reports that.
func (e *Error) Is(target error) bool {
	return target == Err || e.elsewhere && target == ErrElsewhere
}
