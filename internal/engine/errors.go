package engine

import (
	"errors"
	"fmt"
)

// Errors of this package, found with errors.Is.
var (
	// ErrClosed reports use of a closed database.
	ErrClosed = errors.New("database is closed")
	// ErrReadOnly reports a write to a database that was opened for reading. Other packages use it
	// for transactions, too.
	ErrReadOnly = errors.New("transaction or database is read-only")
	// ErrPoisoned reports that a write or sync of the log or the manifest has failed before, so
	// that it is unknown what a crash would leave. Reading goes on; opening the database again
	// recovers what is durable.
	ErrPoisoned = errors.New("database no longer accepts writes after a failed one; " +
		"close and open it again")
	// ErrDeadlock reports a wait for the writer lock in a goroutine that is itself in the function
	// of an Update that holds it.
	ErrDeadlock = errors.New("this would deadlock with the Update that it is called in; " +
		"use the transaction of that Update")
)

// poison is the failure that ended all writing.
type poison struct {
	cause   error
	refused bool // by who acknowledges commits: opening the database again is no remedy
}

// Error implements error.
func (p *poison) Error() string {
	if p.refused {
		return fmt.Sprintf("database no longer accepts writes: %v", p.cause)
	}
	return fmt.Sprintf("%v (cause: %v)", ErrPoisoned, p.cause)
}

// Is reports whether target is ErrPoisoned.
func (p *poison) Is(target error) bool { return target == ErrPoisoned }

// Unwrap returns the failure itself.
func (p *poison) Unwrap() error { return p.cause }

// poison ends all writing: pending and later commits fail, readers go on. The first cause stays.
func (e *Engine) poison(cause error) error { return e.poisonWith(&poison{cause: cause}) }

func (e *Engine) poisonWith(p *poison) error {
	if e.poisoned.CompareAndSwap(nil, p) {
		e.options.Logger.Error("writes stopped", "dir", e.dir, "err", p.cause)
	}
	e.withheld.fail(e.poisoned.Load())
	return e.poisoned.Load()
}

// whyPoisoned returns why all writing has ended, or nil.
func (e *Engine) whyPoisoned() error {
	if p := e.poisoned.Load(); p != nil {
		return p
	}
	return nil
}

// Err returns ErrClosed once the engine is closed, or why all writing has ended, or nil.
func (e *Engine) Err() error {
	if e.closed.Load() {
		return ErrClosed
	}
	return e.whyPoisoned()
}

// writable returns why the database cannot be written, or nil.
func (e *Engine) writable() error {
	if e.closed.Load() {
		return ErrClosed
	}
	if e.options.ReadOnly {
		return ErrReadOnly
	}
	return e.whyPoisoned()
}
