package stoat

import (
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// What layers above need to keep something for the time of a transaction, such as a counter that
// many writes change and that is stored once.

// local is a value that a transaction keeps, by a pointer to it.
type local struct{ key, value any }

// Local returns what a transaction keeps under key; if that is nothing yet, it keeps what create
// returns. A package uses keys of a type of its own, as with context.WithValue. The values are let
// go of when the transaction ends.
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

// Salvaged returns 0, or another number than after any other salvage if the database was made by
// [Salvage] of one that had lost something, or comes from such a database by a backup. A layer
// whose keys must agree with each other keeps the number for which it has checked that they do.
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

// Now returns the moment by which the transaction tells what has expired in a layer: that of the
// first call, so that there is one for all that it reads and writes. Keys of PutTTL expire by the
// time of each read.
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

// BeforeCommit has fn called when the transaction is about to be committed, behind those that were
// registered before. It may write. If it returns an error, the transaction is rolled back, and its
// commit returns the error; the rest are not called then, nor are any when it is rolled back.
// Within fn, [Tx.Commit] is an error.
func (tx *Tx) BeforeCommit(fn func() error) error {
	if err := tx.checkWrite(); err != nil {
		return err
	}
	tx.session.hooks = append(tx.session.hooks, fn)
	return nil
}

// runHooks calls what was registered with BeforeCommit, and what that registers.
func (s *session) runHooks() error {
	for i := 0; i < len(s.hooks); i++ {
		if err := s.hooks[i](); err != nil {
			return err
		}
	}
	return nil
}
