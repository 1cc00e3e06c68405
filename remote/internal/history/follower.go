package history

import (
	"context"
	"errors"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Follower reads the log as it grows. Not safe for concurrent use.
type Follower struct {
	log   *Log
	state *object.State
}

// Follow returns a follower that begins at the newest state.
func (l *Log) Follow(ctx context.Context) (*Follower, error) {
	s, err := l.Newest(ctx)
	if err != nil {
		return nil, err
	}
	return &Follower{l, s}, nil
}

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
		if !moved && jumpErr == nil {
			jumpErr = err // no newer state explains the break
		}
		return nil, moved, jumpErr
	case err != nil:
		return nil, false, err
	}
	if next.ID == f.state.ID {
		f.state = next
		return nil, true, nil // void
	}
	if o.Claim != nil {
		counts, err := f.lookBack(ctx, o)
		if err != nil || !counts {
			return nil, err == nil, err
		}
	}
	f.state = next
	return o, true, nil
}

// lookBack asks the newest state whether a claim counts. If it does not, the follower is behind,
// and jumps.
func (f *Follower) lookBack(ctx context.Context, o *object.Log) (bool, error) {
	newest, err := f.log.Newest(ctx)
	if err != nil || newest.Number < o.Number || hasClaim(newest, o.Number, o.ID) {
		return err == nil, err
	}
	f.state = newest
	return false, nil
}

// Jump goes on from the newest state, if that is ahead. A follower that has found nothing for a
// while must call it: the next object may have been deleted.
func (f *Follower) Jump(ctx context.Context) (moved bool, err error) {
	newest, err := f.log.Newest(ctx)
	if err != nil || newest.Number <= f.state.Number {
		return false, err
	}
	f.state = newest
	return true, nil
}
