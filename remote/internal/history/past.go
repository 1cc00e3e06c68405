package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// ErrNotKept reports a commit that cannot be restored: what it takes is deleted, or its changes
// came to the store only together with those of others.
var ErrNotKept = errors.New("the store does not have the database as it was then")

// ErrLost reports a commit that is no part of the database any more.
var ErrLost = errors.New("the commit was lost with its writer, before it was shipped")

// AtCommit returns a state from which the database after a commit can be restored: its version has
// no later commit, and its pending objects have all up to this one, and perhaps later ones, too.
// The end of the log is given.
func (l *Log) AtCommit(
	ctx context.Context, end *object.State, commit uint64,
) (*object.State, error) {
	if commit > end.Commit {
		return nil, fmt.Errorf("the newest commit in the store is %d, and %d is asked for: %w",
			end.Commit, commit, ErrNotKept)
	}
	s, through, err := l.lastState(ctx, end, func(s *object.State) bool {
		return s.Version.LastCommit > commit
	})
	if err != nil {
		return nil, err
	}
	after, err := l.listedAfter(ctx, s.Number, through)
	if err != nil {
		return nil, err
	}
	reading := l.batching(after)
	for s.Commit < commit {
		next, o, err := reading.follow(ctx, s, end)
		if err != nil {
			return nil, err
		}
		if next.Version.LastCommit > commit {
			s, err = withCommits(s, o, commit)
			if err != nil {
				return nil, err
			}
			break
		}
		s = next
	}
	at := *s
	at.Commit = commit
	return &at, l.isPast(ctx, &at, end)
}

// withCommits returns a state with the commits of the next object, but not with its edit, which has
// later ones.
func withCommits(s *object.State, o *object.Log, commit uint64) (*object.State, error) {
	at := *s
	for _, part := range o.Parts {
		if c := part.Commits; c != nil && c.First <= commit && commit <= c.Last() {
			at.Pending = append(at.Pending[:len(at.Pending):len(at.Pending)],
				object.Pending{Number: o.Number, Last: c.Last()})
			at.Commit = c.Last()
			return &at, nil
		}
	}
	if o.Claim != nil {
		return nil, fmt.Errorf("commit %d is from before the database was cloned: restore it from the "+
			"parent: %w", commit, ErrNotKept)
	}
	return nil, fmt.Errorf("commit %d came together with others: %w", commit, ErrNotKept)
}

// AtTime returns the state at the last object of the log that was made at or before a time, in
// milliseconds since 1970. The end of the log is given.
func (l *Log) AtTime(
	ctx context.Context, end *object.State, at uint64,
) (*object.State, error) {
	s, through, err := l.lastState(ctx, end, func(s *object.State) bool { return s.Time > at })
	if err != nil {
		return nil, err
	}
	after, err := l.listedAfter(ctx, s.Number, through)
	if err != nil {
		return nil, err
	}
	reading := l.batching(after)
	for s.Number < end.Number {
		next, _, err := reading.follow(ctx, s, end)
		if err != nil {
			return nil, err
		}
		if next.Time > at {
			break
		}
		s = next
	}
	if s.Number == 0 {
		return nil, fmt.Errorf("the log begins later: %w", ErrNotKept)
	}
	return s, l.isPast(ctx, s, end)
}

// lastState returns the last state in the store that is not beyond something, which all later ones
// are, too; the one before the first object if there is none. The log is beyond it after the object
// through, or ends there.
func (l *Log) lastState(
	ctx context.Context, end *object.State, beyond func(*object.State) bool,
) (last *object.State, through uint64, err error) {
	numbers, err := l.States(ctx)
	if err != nil {
		return nil, 0, err
	}
	last = Start(l.Database)
	after := sort.Search(len(numbers), func(i int) bool {
		if err != nil {
			return true
		}
		var s *object.State
		if s, err = l.stateAt(ctx, numbers[i]); err != nil {
			if errors.Is(err, objstore.ErrNotExist) { // deleted meanwhile, so it is too old
				err = nil
				return false
			}
			return true
		}
		if beyond(s) {
			return true
		}
		last = s
		return false
	})
	through = end.Number
	if after < len(numbers) {
		through = min(through, numbers[after])
	}
	return last, through, err
}

// follow returns the state after the next object, and that object. What is missing before the end
// of the log is deleted.
func (l *Log) follow(
	ctx context.Context, s, end *object.State,
) (*object.State, *object.Log, error) {
	next, o, err := l.advance(ctx, s)
	if _, void := slices.BinarySearch(end.Void, s.Number+1); void && errors.Is(err, errStray) {
		return Skip(s), nil, nil
	}
	if errors.Is(err, objstore.ErrNotExist) && s.Number < end.Number {
		err = fmt.Errorf("log object %d is deleted: %w", s.Number+1, ErrNotKept)
	}
	return next, o, err
}

// isPast returns an error unless a state is in the past of the end of the log, and its files are
// kept: a void claim may have misled who reads where others have deleted, and states from before
// the unlink bound may be deleted later than their files, unless a pin is there. A pin that counts
// may be behind the bound, if a collection had listed the pins before it was created.
func (l *Log) isPast(ctx context.Context, s, end *object.State) error {
	if s.Number < end.Bound {
		kept, err := l.keptByPin(ctx, s.Number)
		if err != nil {
			return err
		}
		if !kept {
			return fmt.Errorf("what log object %d needs may be deleted, up to that of %d: %w", s.Number,
				end.Bound, ErrNotKept)
		}
	}
	for _, c := range s.Claims {
		if !hasClaim(end, c.Number, c.ID) {
			return corrupt.New(logName(c.Number), 0, "the claim is not that of the database")
		}
	}
	return nil
}

// keptByPin reports whether a pin keeps what log object n needs: all from the newest state on that
// is not after the pin.
func (l *Log) keptByPin(ctx context.Context, n uint64) (bool, error) {
	pins, err := l.Pins(ctx)
	if err != nil || len(pins) == 0 {
		return false, err
	}
	states, err := l.States(ctx)
	return err == nil && slices.ContainsFunc(pins, func(p NamedPin) bool {
		after := sort.Search(len(states), func(i int) bool { return states[i] > p.Number })
		return after == 0 || states[after-1] <= n
	}), err
}
