package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"

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

	first object.ID // of the first log object; zero unless it was opened by Open

	glance  *glance // the one at which the last claim ended whose number was taken; or nil
	vain    int     // claims whose number was taken
	barrier uint64  // the number of the last barrier that it has made; 0 if there is none
	reach   uint64  // how far ahead that was put
	toClaim bool    // claims need no look back
	looked  looked  // the last look back
}

// looked is a look back at the newest state, after objects were fetched.
type looked struct {
	through uint64 // the last one of them
	newest  uint64 // the number of the newest state, or a higher one
}

// newFollower returns a follower at a state of the log.
func newFollower(l Log, s *object.State) *Follower {
	return followerOf(l, l.newAhead(l.openingBytes()), s)
}

// followerOf is newFollower with objects that were fetched already.
func followerOf(l Log, fetched *ahead, s *object.State) *Follower {
	l.Store = fetched
	return &Follower{log: &l, ahead: fetched, state: s, newest: s, read: newReadIDs(s)}
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
// all claims together: so a log is read in three round trips, whatever its length, or in two if it
// is short and nothing is pending. If there is no database, the error matches objstore.ErrNotExist.
func (l *Log) Open(ctx context.Context) (f *Follower, end uint64, err error) {
	whichever := *l
	whichever.anyDatabase = true
	fetched := l.newAhead(l.openingBytes())
	s, listed, err := whichever.newestAndAfter(ctx, fetched)
	if err != nil {
		return nil, 0, err
	}
	from := cmp.Or(s, Start([16]byte{}))
	f = followerOf(whichever, fetched, from)
	needed := append(pendingOf(from), listed...)
	if err := fetched.fetch(ctx, fetched.missing(needed)); err != nil {
		return nil, 0, err
	}
	if s == nil {
		if f.state, err = f.start(); err != nil {
			return nil, 0, err
		}
	}
	if len(f.state.Claims) > 0 {
		f.first = f.state.Claims[0].ID
	}
	f.log.Database, f.log.anyDatabase = f.state.Database, false
	return f, max(f.state.Number, lastOf(listed)), nil
}

// ToClaim says that the follower reads only to claim. Then a claim that it reads needs no look
// back: that after its own claim is about all that was read. What it shows before may be no state
// of the database.
func (f *Follower) ToClaim() { f.toClaim = true }

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
	f.first = first.ID
	return Start(first.Database), nil
}

// First returns the id of the first log object, which no other store of a database shares, except a
// copy.
func (f *Follower) First() object.ID { return f.first }

// State returns the state at the last object that was read.
func (f *Follower) State() *object.State { return f.state }

// Next reads the next object, in one request if there is none. The object is nil if there is none,
// if it is void, or if the follower jumped to a newer state because the log has changed or ends;
// then moved says whether [Follower.State] has changed. It is an error if the log breaks off and
// there is no newer state.
func (f *Follower) Next(ctx context.Context) (o *object.Log, moved bool, err error) {
	f.glance = nil // it is of the past by now
	next, o, err := f.log.advance(ctx, f.state)
	if errors.Is(err, errStray) && f.hasLooked(f.state.Number+1) {
		next, err = Skip(f.state), nil
	}
	if err != nil {
		f.looked = looked{} // what was fetched before it may be asked for again
	}
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return nil, false, nil
	case errors.Is(err, errBreak):
		look := looked{through: f.ahead.through(f.state.Number + 1), newest: f.state.Number}
		moved, jumpErr := f.Jump(ctx)
		switch {
		case moved || jumpErr != nil:
			return nil, moved, jumpErr
		case errors.Is(err, errStray):
			f.looked = look
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
// and jumps. One answer is about all objects that were fetched before: none of them was missing and
// created anew if no state is as new.
func (f *Follower) lookBack(ctx context.Context, o *object.Log) (bool, error) {
	if f.toClaim || f.hasLooked(o.Number) {
		return true, nil
	}
	look := looked{through: f.ahead.through(o.Number)}
	var err error
	if look.newest, err = f.log.newestNumber(ctx); err != nil {
		return false, err
	}
	if f.looked = look; look.newest < o.Number {
		return true, nil
	}
	newest, err := f.log.newestFrom(ctx, o.Number)
	if err != nil || newest == nil || hasClaim(newest, o.Number, o.ID) {
		return err == nil, err
	}
	f.jumpTo(newest)
	return false, nil
}

// hasLooked reports whether the last look back was about an object: it had been fetched, and no
// state was as new.
func (f *Follower) hasLooked(n uint64) bool { return f.looked.newest < n && n <= f.looked.through }

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
	f.read, f.looked, f.glance = newReadIDs(newest), looked{}, nil
	f.ahead.forget()
}

// Commits calls fn with each commit of the state that is above the last one in its version, in
// order. It is an error that matches objstore.ErrNotExist if one was deleted, because there is a
// newer state.
func (f *Follower) Commits(ctx context.Context, fn func(commit uint64, batch []byte) error) error {
	if err := f.ahead.fetch(ctx, f.ahead.missing(pendingOf(f.state))); err != nil {
		return err
	}
	return f.log.Commits(ctx, f.state, fn)
}
