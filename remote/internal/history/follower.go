package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Follower reads the log as it grows. Not safe for concurrent use.
type Follower struct {
	log   *Log // its store is ahead
	ahead *ahead
	state *object.State

	read   readIDs       // what this follower has read, as far as a claim may need it
	newest *object.State // of those that are stored, as far as this follower has looked

	origin object.ID // of the first log object; zero unless it was opened by Open
}

// newFollower returns a follower at a state of the log.
func newFollower(l Log, s *object.State) *Follower {
	fetched := l.newAhead()
	l.Store = fetched
	f := &Follower{log: &l, ahead: fetched}
	f.jumpTo(s)
	return f
}

// Follow returns a follower that begins at the newest state.
func (l *Log) Follow(ctx context.Context) (*Follower, error) {
	s, err := l.Newest(ctx)
	if err != nil {
		return nil, err
	}
	return newFollower(*l, s), nil
}

// Open returns a follower of the database in the store, whichever that is, and the number of the
// last object in its log. It is ready to read up to there without another request, except one for
// each claim: so a log is read in three round trips, whatever its length. If there is no database,
// the error matches objstore.ErrNotExist.
func (l *Log) Open(ctx context.Context) (f *Follower, end uint64, err error) {
	whichever := *l
	whichever.anyDatabase = true
	s, listed, err := whichever.newestAndAfter(ctx)
	if err != nil {
		return nil, 0, err
	}
	from := cmp.Or(s, Start([16]byte{}))
	f = newFollower(whichever, from)
	if err := f.ahead.fetch(ctx, append(pendingNames(from), namesOf(listed)...)); err != nil {
		return nil, 0, err
	}
	if s == nil {
		if f.state, err = f.start(); err != nil {
			return nil, 0, err
		}
	}
	if len(f.state.Claims) > 0 {
		f.origin = f.state.Claims[0].ID
	}
	f.log.Database, f.log.anyDatabase = f.state.Database, false
	return f, max(f.state.Number, lastOf(listed)), nil
}

// newestAndAfter returns the newest state, or nil if there is none, and the log objects after it.
func (l *Log) newestAndAfter(
	ctx context.Context,
) (s *object.State, listed []objstore.Object, err error) {
	for {
		n, err := l.newestNumber(ctx)
		if err != nil {
			return nil, nil, err
		}
		err = l.together(
			func() (err error) {
				if n > 0 {
					s, err = l.stateAt(ctx, n)
				}
				return err
			},
			func() (err error) {
				listed, err = l.listedAfter(ctx, n, math.MaxUint64)
				return err
			},
		)
		if errors.Is(err, objstore.ErrNotExist) {
			continue // a newer one exists, and this one was deleted
		}
		return s, listed, err
	}
}

// start returns the state before the first log object, which was fetched if there is one.
func (f *Follower) start() (*object.State, error) {
	p, exists := f.ahead.objects[logName(1)]
	if !exists {
		return nil, fmt.Errorf("get %s: %w", logName(1), objstore.ErrNotExist)
	}
	first, err := f.log.Codec.DecodeLog(logName(1), p)
	if err != nil {
		return nil, err
	}
	f.origin = first.ID
	return Start(first.Database), nil
}

// Origin returns the id of the first log object, which no other store of a database shares, except
// a copy.
func (f *Follower) Origin() object.ID { return f.origin }

// State returns the state at the last object that was read.
func (f *Follower) State() *object.State { return f.state }

// Next reads the next object, in one request if there is none. The object is nil if there is none,
// if it is void, or if the follower jumped to a newer state because the log has changed or ends;
// then moved says whether [Follower.State] has changed. It is an error if the log breaks off and
// there is no newer state.
func (f *Follower) Next(ctx context.Context) (o *object.Log, moved bool, err error) {
	next, o, err := f.log.advance(ctx, f.state)
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return nil, false, nil
	case errors.Is(err, errBreak):
		moved, jumpErr := f.Jump(ctx)
		switch {
		case moved || jumpErr != nil:
			return nil, moved, jumpErr
		case errors.Is(err, errStray):
			f.moveTo(Skip(f.state))
			return nil, true, nil
		}
		return nil, false, err // no newer state explains the break
	case err != nil:
		return nil, false, err
	}
	if next.ID == f.state.ID {
		f.moveTo(next)
		return nil, true, nil // void
	}
	if o.Claim != nil {
		counts, err := f.lookBack(ctx, o)
		if err != nil || !counts {
			return nil, err == nil, err
		}
	}
	f.moveTo(next)
	return o, true, nil
}

// lookBack asks the newest state whether a claim counts. If it does not, the follower is behind,
// and jumps.
func (f *Follower) lookBack(ctx context.Context, o *object.Log) (bool, error) {
	newest, err := f.log.newestFrom(ctx, o.Number)
	if err != nil || newest == nil || hasClaim(newest, o.Number, o.ID) {
		return err == nil, err
	}
	f.jumpTo(newest)
	return false, nil
}

// Jump goes on from the newest state, if that is ahead. A follower that has found nothing for a
// while must call it: the next object may have been deleted.
func (f *Follower) Jump(ctx context.Context) (moved bool, err error) {
	newest, err := f.log.newestNumber(ctx)
	if err != nil {
		return false, err
	}
	if newest <= f.state.Number {
		f.read.forget(newest)
		return false, nil
	}
	s, err := f.log.newestFrom(ctx, newest)
	if err != nil || s == nil {
		return false, err
	}
	f.jumpTo(s)
	return true, nil
}

// moveTo goes on to the state after the next object.
func (f *Follower) moveTo(next *object.State) {
	f.state = next
	f.read.ids[next.Number] = next.ID
}

// jumpTo goes on from a state that was read.
func (f *Follower) jumpTo(newest *object.State) {
	f.state, f.newest = newest, newest
	f.read = newReadIDs(newest)
	f.ahead.forget()
}

// Commits calls fn with each commit of the state that is above the last one in its version, in
// order. It is an error that matches objstore.ErrNotExist if one was deleted, because there is a
// newer state.
func (f *Follower) Commits(ctx context.Context, fn func(commit uint64, batch []byte) error) error {
	if err := f.ahead.fetch(ctx, f.ahead.missing(pendingNames(f.state))); err != nil {
		return err
	}
	return f.log.Commits(ctx, f.state, fn)
}
