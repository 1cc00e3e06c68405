// Package clonestore shows the store of a clone together with that of its parent, so that files
// which both have are read without being copied.
//
// A [Store] is that of the clone: whatever is created, put, deleted or listed, is there. Only files
// that the clone lacks are read in the parent's store, where nothing is ever changed, and only once
// [Store.Lend] has said which ones: the parent goes on, and may give the names of the clone's files
// to others. Parents may be clones, too. Everything is safe for concurrent use.
package clonestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Store is the store of a clone.
type Store struct {
	objstore.Store
	parent objstore.Store
	most   atomic.Uint64 // the epoch up to which files may be the parent's; 0: none are
	copied atomic.Bool   // they are the clone's most likely, by now
}

// New returns the store of a clone, given its own and that of its parent.
func New(own, parent objstore.Store) *Store { return &Store{Store: own, parent: parent} }

// Of returns the store of a clone that a store is, or counts or paces; nil if it is none.
func Of(store objstore.Store) *Store {
	for {
		switch s := store.(type) {
		case *Store:
			return s
		case interface{ Unwrap() objstore.Store }:
			store = s.Unwrap()
		default:
			return nil
		}
	}
}

// Lend is [Store.Lend] for any database, given its log and the newest state. It is an error if a
// clone needs files of its parent, and that is not at hand.
func Lend(ctx context.Context, log *history.Log, end *object.State) error {
	clone := Of(log.Store)
	switch {
	case clone != nil && len(end.Claims) > 0:
		own := *log
		own.Database = end.Database
		return clone.Lend(ctx, &own, end)
	case end.Origin != nil:
		return history.NoParent(end.Origin)
	}
	return nil
}

// Return is [Store.Return] for any store.
func Return(store objstore.Store) {
	if clone := Of(store); clone != nil {
		clone.Return()
	}
}

// Encrypts implements [objstore.Encrypting].
func (s *Store) Encrypts() bool { return objstore.Encrypts(s.Store) }

// Streams says whether both stores do ([objstore.Streams]).
func (s *Store) Streams() bool { return objstore.Streams(s.Store) && objstore.Streams(s.parent) }

// Parent returns the store of the parent.
func (s *Store) Parent() objstore.Store { return s.parent }

// Lend has files read in the parent's store from now on that the parent may have, given the log of
// the clone and its state; none are if that has no origin any more. It is an error if the database
// never had one, if the store is not that of the parent, or if the parent does not keep what the
// clone needs.
func (s *Store) Lend(ctx context.Context, clone *history.Log, state *object.State) error {
	err := s.lend(ctx, clone, state)
	if !errors.Is(err, history.ErrNoParent) && !errors.Is(err, history.ErrNotKept) {
		return err
	}
	// The parent need not be there, nor keep anything, if the clone has been detached meanwhile.
	end, endErr := clone.End(ctx)
	switch {
	case endErr != nil:
		return fmt.Errorf("look whether the clone needs its parent: %w", endErr)
	case end.Origin == nil && end.IsClone():
		s.Return()
		return nil
	}
	return err
}

// Return has no file read in the parent's store any more: the clone has all of them.
func (s *Store) Return() { s.most.Store(0) }

func (s *Store) lend(ctx context.Context, clone *history.Log, state *object.State) error {
	origin := state.Origin
	switch {
	case !state.IsClone():
		return history.NoClone()
	case origin == nil:
		s.Return()
		return nil
	}
	parent := *clone
	parent.Store = s.parent
	if err := parent.WantParent(ctx, origin, history.ClonePin(state.Claims[0].ID)); err != nil {
		return err
	}
	if origin.Nested {
		if err := s.lendParent(ctx, &parent); err != nil {
			return fmt.Errorf("the parent is a clone itself: %w", err)
		}
	}
	s.most.Store(origin.Epoch)
	return nil
}

// lendParent has the parent lend what it has of its own parent, if it still has one.
func (s *Store) lendParent(ctx context.Context, parent *history.Log) error {
	end, err := parent.End(ctx)
	if err != nil {
		return err
	}
	return Lend(ctx, parent, end)
}

// Lends reports whether an object may be the parent's.
func (s *Store) Lends(name string) bool {
	most := s.most.Load()
	if most == 0 {
		return false
	}
	_, number, isData := history.ParseData(name)
	return isData && number>>history.EpochShift <= most
}

// ask makes a request for a file that may be lent: to the store of the parent and then, if that
// fails, to the clone's, which may have a copy; or the other way round, as long as that has been of
// more use. So once its clone is detached, a parent that does not answer is asked one more time.
func (s *Store) ask(request func(objstore.Store) error) error {
	if s.copied.Load() {
		ownErr := request(s.Store)
		if ownErr == nil {
			return nil
		}
		err := request(s.parent)
		if err == nil {
			s.copied.Store(false)
			return nil
		}
		return either(err, ownErr)
	}
	err := request(s.parent)
	if err == nil {
		return nil
	}
	s.copied.Store(true)
	return either(err, request(s.Store))
}

// Get implements [objstore.Store].
func (s *Store) Get(ctx context.Context, name string, off, n int64) (got []byte, err error) {
	if !s.Lends(name) {
		return s.Store.Get(ctx, name, off, n)
	}
	err = s.ask(func(store objstore.Store) (err error) {
		got, err = store.Get(ctx, name, off, n)
		return err
	})
	return got, err
}

// GetTo implements [objstore.Streamer].
func (s *Store) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (written int64, err error) {
	if !s.Lends(name) {
		return objstore.GetTo(ctx, s.Store, name, off, n, w)
	}
	var broken error // after a part, so that nobody else can be asked for all of it
	err = s.ask(func(store objstore.Store) (err error) {
		if written, err = objstore.GetTo(ctx, store, name, off, n, w); written > 0 {
			broken, err = err, nil
		}
		return err
	})
	return written, cmp.Or(err, broken)
}

// either returns the error of reading an object that the parent's store has not given, and the
// clone's has or not. That an object does not exist is said only if neither has it.
func either(inParent, inOwn error) error {
	missing := errors.Is(inParent, objstore.ErrNotExist)
	if inOwn == nil || missing && !errors.Is(inOwn, objstore.ErrNotExist) {
		return inOwn
	}
	return fmt.Errorf("in the store of the parent: %w", inParent)
}

// List implements [objstore.Store]. An object that is asked for by its whole name is found where
// Get finds it.
func (s *Store) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	own, err := s.Store.List(ctx, prefix, after, limit)
	if err != nil || len(own) > 0 || !s.Lends(prefix) {
		return own, err
	}
	return s.parent.List(ctx, prefix, after, limit)
}

// EachLent calls fn with the parent's files that may be the clone's, a page at a time; those that
// the parent has of its own parents come last.
func (s *Store) EachLent(ctx context.Context, fn func([]objstore.Object) error) error {
	lent := func(page []objstore.Object) error {
		var own []objstore.Object
		for _, o := range page {
			if s.Lends(o.Name) {
				own = append(own, o)
			}
		}
		return fn(own)
	}
	if s.most.Load() == 0 {
		return nil
	}
	if err := history.EachObject(ctx, s.parent, history.DataPrefix, lent); err != nil {
		return err
	}
	if between := Of(s.parent); between != nil {
		return between.EachLent(ctx, lent)
	}
	return nil
}
