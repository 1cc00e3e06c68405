package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/wal"
)

// Follower reads commits in their order, as they become visible. It must be closed. For one
// goroutine.
type Follower struct {
	engine *Engine
	read   bookmark
}

// bookmark says how far the log was read, so that reading on does not start at the beginning.
type bookmark struct {
	segment uint64 // the number of the file
	commit  uint64 // the last one that was read
	offset  int64  // where the frame behind that starts
}

// Commit is the writes of one commit. It is valid during the call that it is given to.
type Commit struct {
	Number   uint64
	payloads []wal.Payload
}

// Each calls fn for each entry in the order of writing, until fn returns an error, which it
// returns. Key and value must not be modified; the value of a range deletion is its end.
func (c Commit) Each(fn func(key []byte, e keyspace.Entry) error) error {
	for _, p := range c.payloads {
		if err := batch.Read(p.Bytes, fn); err != nil {
			return err
		}
	}
	return nil
}

// Newest returns the number of the newest commit that readers see, or saw last if the engine is
// closed.
func (e *Engine) Newest() uint64 { return e.state.Load().Commit }

// Follow returns a follower. From now on commits are kept for it, within bounds.
func (e *Engine) Follow() (*Follower, error) {
	if e.options.ReadOnly {
		return nil, fmt.Errorf("it does not change; open it without Options.ReadOnly to watch it: %w",
			ErrReadOnly)
	}
	e.turn.Lock()
	defer e.turn.Unlock()
	if e.closed.Load() {
		return nil, ErrClosed
	}
	e.recent.join()
	return &Follower{engine: e}, nil
}

// Close ends the follower.
func (f *Follower) Close() { f.engine.recent.leave() }

// Reach returns when the given commit is visible. A commit that nobody has made yet is an error.
func (f *Follower) Reach(ctx context.Context, commit uint64) error {
	e := f.engine
	if newest := e.committed.Load(); commit > newest {
		return fmt.Errorf("the position is that of commit %d, and the newest is %d: it is of a copy of "+
			"the database, or of commits that a crash undid", commit, newest)
	}
	if commit == 0 {
		return ctx.Err()
	}
	_, err := e.await(ctx, commit-1)
	return err
}

// Run calls fn with every commit above after, in order, and waits for more when there is none. It
// returns the first error of fn as it is, ErrClosed after the last commit of a closed engine, the
// error of ctx, and ErrLagged when the next commit is neither kept nor in the log.
func (f *Follower) Run(ctx context.Context, after uint64, fn func(c Commit) error) error {
	e := f.engine
	for seen := after; ; {
		newest, err := e.await(ctx, seen)
		if err != nil {
			return err
		}
		payload, kept := e.recent.get(seen + 1)
		switch {
		case !kept:
			seen, err = f.replay(ctx, seen, newest, fn)
		case payload == nil:
			err = ErrLagged
		default:
			seen++
			err = fn(Commit{seen, []wal.Payload{{Bytes: payload}}})
		}
		if err != nil {
			return err
		}
	}
}

// replay is Run with the commits from after to through, which are visible, from the log. It returns
// the last one that fn was called with.
//
// Nothing is locked: a segment may be removed at any time, and then its commits are not at hand any
// more. The frames up to through are in the files; what lies behind them, another goroutine may be
// writing, and is not looked at.
func (f *Follower) replay(
	ctx context.Context, after, through uint64, fn func(c Commit) error,
) (seen uint64, err error) {
	seen = after
	segments, err := f.engine.segments(after + 1)
	for i := 0; err == nil && seen < through; i++ {
		if i == len(segments) || segments[i].first > seen+1 {
			return seen, ErrLagged
		}
		seen, err = f.replaySegment(ctx, segments[i].number, seen, through, fn)
	}
	switch {
	case errors.Is(err, errThrough):
		return seen, nil
	case errors.Is(err, fs.ErrNotExist),
		f.engine.closed.Load() && errors.Is(err, fs.ErrClosed):
		return seen, ErrLagged
	}
	return seen, err
}

// replaySegment is replay for one segment, which may have only some of the commits. The error is
// errThrough after the last one.
func (f *Follower) replaySegment(
	ctx context.Context, number, after, through uint64, fn func(c Commit) error,
) (seen uint64, err error) {
	from := int64(0)
	if f.read.segment == number && f.read.commit <= after {
		from = f.read.offset
	}
	var stopped error // why no more is read
	each := func(commit uint64, payloads []wal.Payload) error {
		if stopped = ctx.Err(); stopped != nil {
			return stopped
		}
		last := payloads[len(payloads)-1]
		f.read = bookmark{number, commit, last.At + int64(len(last.Bytes))}
		if stopped = fn(Commit{commit, payloads}); stopped == nil && commit == through {
			stopped = errThrough
		}
		return stopped
	}
	e := f.engine
	seen, err = wal.ReplayFrom(e.folder, e.dir, number, e.database, from, after, each)
	if stopped == errThrough {
		seen = through
	}
	return seen, cmp.Or(stopped, err)
}

// errThrough ends the reading of a log segment before what may not be looked at.
var errThrough = errors.New("all that was asked for is read")

// logged is a file of the log that starts with the commit first.
type logged struct{ number, first uint64 }

// segments returns the log segments that may have the given commit and those above it, in order:
// those that recovery would read, and those that are kept for the values in them.
func (e *Engine) segments(commit uint64) ([]logged, error) {
	found, err := survey(e.folder, e.dir)
	if err != nil {
		return nil, err
	}
	var all []logged
	for _, number := range slices.Backward(found.logs) {
		first, ok, err := wal.First(e.folder, e.dir, number, e.database)
		if errors.Is(err, fs.ErrNotExist) {
			break // it was removed meanwhile, and those before it are of no use alone
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // it has no commit yet
		}
		all = append(all, logged{number, first})
		if first <= commit {
			break
		}
	}
	slices.Reverse(all)
	return all, nil
}
