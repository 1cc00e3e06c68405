package stoat

import (
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// What layers need to keep state for the duration of a transaction, such as a counter that many
// writes change and that is stored once.

// local is a value that a transaction keeps, as a pointer to it.
type local struct{ key, value any }

// Local returns the value that a transaction keeps under key; if there is none yet, it stores the
// result of create. A package uses keys of a type of its own, as with context.WithValue. The values
// are released when the transaction ends.
func Local[K comparable, V any](tx *Tx, key K, create func() V) V {
	if tx.ended() {
		return create()
	}
	s := tx.session
	for i := range s.locals {
		if s.locals[i].key == any(key) {
			if value, ok := s.locals[i].value.(*V); ok {
				return *value
			}
		}
	}
	value := create()
	if !tx.ended() {
		s.locals = append(s.locals, local{key, &value})
	}
	return value
}

// Salvaged returns a number that identifies the [Salvage] that made this database, or the database
// that this one was restored from, if that salvage lost data; otherwise it returns 0. A layer whose
// keys must be consistent with each other stores the number after checking them, and checks again
// when it changes.
func (tx *Tx) Salvaged() (uint64, error) {
	if tx.ended() {
		return 0, ErrTxClosed
	}
	s := tx.session
	s.scratch = keyspace.AppendSalvage(s.scratch[:0])
	n, err := s.number(s.scratch, 0)
	if err != nil {
		return 0, fmt.Errorf("read the number of the salvage: %w", err)
	}
	return n, nil
}

// Now returns the time by which a layer decides what has expired in this transaction. It is the
// time of the first call, so one transaction uses a single time for all its reads and writes. Keys
// stored with PutTTL expire by the time of each read instead.
func (tx *Tx) Now() time.Time {
	if tx.ended() {
		return time.Time{}
	}
	s := tx.session
	if s.now.IsZero() {
		s.now = s.db.engine.Now()
	}
	return s.now
}

// BeforeCommit registers fn to be called just before the transaction commits, after the functions
// registered earlier. It may write. If it returns an error, the transaction is rolled back, the
// commit returns the error, and later functions are not called. A rollback calls none. Inside fn,
// [Tx.Commit] returns an error.
func (tx *Tx) BeforeCommit(fn func() error) error {
	if err := tx.checkWrite(); err != nil {
		return err
	}
	tx.session.hooks = append(tx.session.hooks, fn)
	return nil
}

// runHooks calls the functions registered with BeforeCommit, including those that they register.
func (s *session) runHooks() error {
	for i := 0; i < len(s.hooks); i++ {
		if err := s.hooks[i](); err != nil {
			return err
		}
	}
	return nil
}
