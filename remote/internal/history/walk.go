package history

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// First returns the state from which on nothing in the store is deleted, given the end of the log;
// of a clone, that is the one it begins with at the earliest. The error matches
// objstore.ErrNotExist if it is missing, which it may be once there is a later unlink bound.
func (l *Log) First(ctx context.Context, end *object.State) (*object.State, error) {
	switch {
	case end.Bound > 0:
		return l.StateAt(ctx, end.Bound)
	case !end.IsClone():
		return Start(l.Database), nil
	}
	s, _, err := l.advance(ctx, Start(l.Database))
	return s, err
}

// Walk reads all objects of the log after a state, several at a time, and calls fn with the state
// after each. Nothing after that state may have been deleted: what is missing is damage, except at
// the end, where it may be on its way while later objects are stored, or a barrier.
func (l *Log) Walk(
	ctx context.Context, from *object.State, fn func(*object.State) error,
) (end *object.State, err error) {
	listed, err := l.listedAfter(ctx, from.Number, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	end, reading := from, l.batching(listed)
	for last := lastOf(listed); end.Number < last; {
		next, _, err := reading.advance(ctx, end)
		if errors.Is(err, errStray) {
			next, err = reading.skipStray(ctx, end, err)
		}
		if errors.Is(err, objstore.ErrNotExist) {
			ends, failed := l.mayEnd(ctx, end, listed)
			if err = cmp.Or(failed, err); ends {
				break
			}
		}
		if err == nil {
			end, err = next, fn(next)
		}
		if err != nil {
			return nil, missing(err, logName(end.Number+1))
		}
	}
	return end, nil
}

// mayEnd reports whether the log may end after a state although objects beyond that are listed: all
// are as near as those that its writer has in flight, or barriers.
func (l *Log) mayEnd(
	ctx context.Context, end *object.State, listed []objstore.Object,
) (bool, error) {
	for _, far := range numberedAfter(listed, end.Number+window(end.Claims)) {
		n, _ := logNumber(far.Name)
		if o, err := l.get(ctx, n); err != nil || !o.Barrier {
			return false, err
		}
	}
	return true, nil
}

// skipStray returns the state after an object that strays, or the given error if it is not void. If
// the newest state is of a later object, that says so.
func (l *Log) skipStray(
	ctx context.Context, s *object.State, stray error,
) (*object.State, error) {
	newest, err := l.newestFrom(ctx, s.Number+1)
	if err != nil {
		return nil, err
	}
	if newest != nil {
		if _, void := slices.BinarySearch(newest.Void, s.Number+1); !void {
			return nil, stray
		}
	}
	return Skip(s), nil
}

// CheckState returns an error unless the state that is stored after log object s.Number is s.
func (l *Log) CheckState(ctx context.Context, s *object.State) error {
	stored, err := l.StateAt(ctx, s.Number)
	if err != nil {
		return missing(err, stateName(s.Number))
	}
	wanted := *s
	wanted.Previous = object.ID{}
	want, err := l.Codec.EncodeState(&wanted)
	if err != nil {
		return err
	}
	got, err := l.Codec.EncodeState(stored)
	if err == nil && !bytes.Equal(got, want) {
		err = corrupt.New(stateName(s.Number), 0, "the state is not what the log amounts to")
	}
	return err
}

// CheckPast returns an error unless the log objects up to a state are stored that are never deleted
// before a later one: claims, void objects, and those with commits that are not in tables.
func (l *Log) CheckPast(ctx context.Context, s *object.State) error {
	f := followerOf(*l, l.newAhead(math.MaxInt64), s)
	needed := pendingOf(s)
	for _, n := range s.Void {
		needed = append(needed, objstore.Object{Name: logName(n)})
	}
	for _, c := range s.Claims {
		needed = append(needed, objstore.Object{Name: logName(c.Number)})
	}
	if err := f.ahead.fetch(ctx, needed); err != nil {
		return err
	}
	if absent := f.ahead.missing(needed); len(absent) > 0 {
		return corrupt.New(absent[0].Name, 0, "the object is missing")
	}
	for _, c := range s.Claims {
		if _, err := f.log.ClaimAt(ctx, c); err != nil {
			return err
		}
	}
	return f.Commits(ctx, func(uint64, []byte) error { return nil })
}

// missing returns the error for an object that must exist.
func missing(err error, name string) error {
	if errors.Is(err, objstore.ErrNotExist) {
		return corrupt.New(name, 0, "the object is missing")
	}
	return err
}

// ClaimAt returns the log object with a claim, which is never deleted.
func (l *Log) ClaimAt(ctx context.Context, claim object.ClaimAt) (*object.Log, error) {
	o, err := l.get(ctx, claim.Number)
	if err == nil && (o.Claim == nil || o.ID != claim.ID) {
		err = corrupt.New(logName(claim.Number), 0, "the object is not claim %x", claim.ID)
	}
	if err != nil {
		return nil, missing(err, logName(claim.Number))
	}
	return o, nil
}
