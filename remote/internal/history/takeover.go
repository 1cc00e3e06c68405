package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// ErrBehind reports that a follower cannot claim the role of the writer where it is, since the log
// goes on there.
var ErrBehind = errors.New("the log goes on")

// jumpFrom is how many log objects are read one by one, and not left out for a newer state.
const jumpFrom = 256

// Fetch fetches what the log has in addition, however much that is, in two round trips, and returns
// the number of the last object. The follower then reads up to there without another request,
// except one for all claims together. If it is far behind the newest state, it jumps there first.
// After a claim that was in vain, it takes a round trip, or none if there are few objects.
func (f *Follower) Fetch(ctx context.Context) (end uint64, jumped bool, err error) {
	listed, newest, err := f.news(ctx)
	if err == nil && newest > f.state.Number+jumpFrom {
		if jumped, err = f.Jump(ctx); jumped && err == nil {
			listed, err = f.log.listedAfter(ctx, f.state.Number, math.MaxUint64)
		}
	}
	end = f.endOf(listed, newest)
	if err == nil {
		err = f.log.together(
			func() error { return f.ahead.fetch(ctx, f.ahead.missing(through(listed, end))) },
			func() error { return f.fetchState(ctx, newest) },
		)
	}
	if err != nil {
		return 0, jumped, err
	}
	return end, jumped, nil
}

// endOf returns the number up to which there is something to read, given what is listed after the
// follower's state, and the number of the newest state. What comes after a gap is a barrier or has
// overtaken a request, unless the gap was deleted, which needs a newer state.
func (f *Follower) endOf(listed []objstore.Object, newest uint64) (end uint64) {
	end = f.ahead.through(f.state.Number)
	if newest > f.state.Number {
		return max(end, lastOf(listed))
	}
	for _, o := range listed {
		if n, ok := logNumber(o.Name); ok && n == end+1 {
			end = f.ahead.through(n)
		}
	}
	return end
}

// through returns the log objects that are listed up to a number.
func through(listed []objstore.Object, end uint64) (objects []objstore.Object) {
	for _, o := range listed {
		if n, ok := logNumber(o.Name); ok && n <= end {
			objects = append(objects, o)
		}
	}
	return objects
}

// news returns the log objects after the follower's state, and the number of the newest state.
func (f *Follower) news(
	ctx context.Context,
) (listed []objstore.Object, newest uint64, err error) {
	if g := f.glance; g != nil {
		f.glance = nil
		if listed, newest, ok := g.news(); ok {
			return listed, newest, nil
		}
	}
	err = f.log.together(
		func() (err error) {
			listed, err = f.log.listedAfter(ctx, f.state.Number, math.MaxUint64)
			return err
		},
		func() (err error) {
			newest, err = f.log.newestNumber(ctx)
			return err
		},
	)
	return listed, newest, err
}

// fetchState fetches the newest state, so that a claim need not, as long as there is no newer one.
func (f *Follower) fetchState(ctx context.Context, newest uint64) error {
	if newest <= f.newest.Number {
		return nil
	}
	s, err := f.log.stateAt(ctx, newest)
	if errors.Is(err, objstore.ErrNotExist) {
		return nil // there is a newer one
	}
	if err == nil {
		f.newest = s
	}
	return err
}

// Claim takes the role of the writer in a log at whose end the follower is, as [Log.Claim] does, in
// two round trips. The log as is the one that the writer uses. If the follower is not at the end,
// or does not know whether it is, the error is ErrBehind: then it has to read on, which
// [Follower.Fetch] begins, and may try again. Once the claim is stored, which may have ended the
// writer before, an error matches objstore.ErrUnknown. The follower stays before the claim.
func (f *Follower) Claim(
	ctx context.Context, as *Log, claim object.Claim,
) (*Writer, error) {
	claim.Base, claim.Window = f.read.base, max(claim.Window, 1)
	g := f.newGlance(ctx, as.Store)
	beside := *as
	beside.Store = g
	var s *object.State
	err := f.stop(as, g)
	if err == nil {
		s, err = beside.createClaim(ctx, f.state, claim)
	}
	if errors.Is(err, errTaken) {
		f.glance = g
		f.vain++
		return nil, ErrBehind
	}
	g.end()
	if err != nil {
		return nil, err
	}
	counts, err := f.claimCounts(ctx, as, s, g.seen())
	if err != nil {
		return nil, fmt.Errorf("%w: whether the claim counts: %w", objstore.ErrUnknown, err)
	}
	if counts {
		return &Writer{log: as, state: s, base: claim.Base, made: new(made)}, nil
	}
	if moved, err := f.Jump(ctx); err != nil || moved {
		return nil, errors.Join(ErrBehind, err)
	}
	return nil, corrupt.New(logName(s.Number), 0, "the claim does not count, and no state says why")
}

// claimCounts asks the newest state whether the claim at the end of s counts. If that state is one
// that was read, it was never replaced, since only a newer one lets a state be deleted. So it need
// not be read again: the state that was seen to be the newest before is read meanwhile.
func (f *Follower) claimCounts(
	ctx context.Context, as *Log, s *object.State, seen uint64,
) (bool, error) {
	var number uint64
	err := f.log.together(
		func() (err error) {
			number, err = as.newestNumber(ctx)
			return err
		},
		func() error {
			_ = f.fetchState(ctx, seen) // or it is read below
			return nil
		},
	)
	if err != nil {
		return false, err
	}
	newest := f.newest
	if number != newest.Number {
		newest, err = as.stateAt(ctx, number)
	}
	if errors.Is(err, objstore.ErrNotExist) {
		return as.lookBack(ctx, s, f.read) // there is a newer one
	}
	return err == nil && f.read.confirm(s, newest), err
}

// together calls functions that make requests, at the same time unless only one is to be made.
func (l *Log) together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		if l.Parallel == 1 {
			errs[i] = call()
			continue
		}
		running.Go(func() { errs[i] = call() })
	}
	running.Wait()
	return errors.Join(errs...)
}
