package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// ErrLagged reports that commits after a position can no longer be delivered one by one.
var ErrLagged = errors.New("changes after this position are no longer at hand; " +
	"read the range again and continue from there")

// Log says where a follower finds commits that are no longer kept in memory.
type Log struct {
	Files    vfs.Files
	Dir      string
	Database [16]byte
	// Segments lists the numbers of the log segments in the folder, ascending.
	Segments func() ([]uint64, error)
}

// Follower reads commits in their order, as they become visible. It must be closed. For one
// goroutine.
type Follower struct {
	pipeline *Pipeline
	newest   *atomic.Uint64 // the newest commit that it may see
	log      Log
	read     bookmark
}

// bookmark says how far a log segment was read, so that reading on does not start at its beginning.
type bookmark struct {
	segment uint64 // its number
	commit  uint64 // the last one that was read
	offset  int64  // where the next frame starts
}

// Batch is the writes of one commit. It is valid during the call that it is passed to.
type Batch struct {
	Commit   uint64 // its number
	payloads []wal.Payload
	isKept   bool // it stays valid
}

// NewBatch returns the batch of a commit, whose payload must not change while it is used.
func NewBatch(commit uint64, payload []byte) Batch {
	return Batch{Commit: commit, payloads: []wal.Payload{{Bytes: payload}}}
}

// Each calls fn for each entry in the order of writing until fn returns an error, which it returns.
// Key and value must not be modified; the value of a range deletion is its end.
func (b Batch) Each(fn func(key []byte, e keyspace.Entry) error) error {
	for _, p := range b.payloads {
		if err := batch.Read(p.Bytes, fn); err != nil {
			return err
		}
	}
	return nil
}

// Size returns the length of Bytes.
func (b Batch) Size() (size int) {
	for _, p := range b.payloads {
		size += len(p.Bytes)
	}
	return size
}

// Bytes returns the payload of all writes, as [batch.Read] reads it. It must not be modified.
func (b Batch) Bytes() []byte {
	if len(b.payloads) == 1 {
		return b.payloads[0].Bytes
	}
	var whole []byte
	for _, p := range b.payloads {
		whole = append(whole, p.Bytes...)
	}
	return whole
}

// Keep returns Bytes for longer than the batch is valid. They must not be modified.
func (b Batch) Keep() []byte {
	if b.isKept || len(b.payloads) > 1 {
		return b.Bytes()
	}
	return slices.Clone(b.Bytes())
}

// Follow returns a follower. From now on commits are kept for it, within bounds.
func (p *Pipeline) Follow(log Log) *Follower {
	if p.config.Withheld {
		return p.follow(log, &p.shown)
	}
	return p.FollowLocal(log)
}

// FollowLocal is Follow for a follower that sees what is withheld.
func (p *Pipeline) FollowLocal(log Log) *Follower { return p.follow(log, &p.visible) }

func (p *Pipeline) follow(log Log, newest *atomic.Uint64) *Follower {
	p.recent.followers.Add(1)
	return &Follower{pipeline: p, newest: newest, log: log}
}

// Stop says that there will be no more commits: once followers have seen all, they get err.
func (p *Pipeline) Stop(err error) {
	p.recent.ended.Store(&ending{err})
	p.recent.wake()
}

// Close ends the follower.
func (f *Follower) Close() { f.pipeline.recent.leave() }

// Reach returns when the given commit is visible. A commit that nobody has made yet is an error.
func (f *Follower) Reach(ctx context.Context, commit uint64) error {
	if newest := f.pipeline.Newest(); commit > newest {
		return fmt.Errorf("the position is that of commit %d, but the newest is %d: it is of a copy "+
			"of the database, or of commits that a crash undid", commit, newest)
	}
	if commit == 0 {
		return ctx.Err()
	}
	_, err := f.Wait(ctx, commit-1)
	return err
}

// Run calls fn with every commit above after, in order, and waits for more. It returns the first
// error of fn as it is, the error of [Pipeline.Stop] after the last commit, the error of ctx, and
// ErrLagged when the next commit is neither kept nor in the log.
func (f *Follower) Run(ctx context.Context, after uint64, fn func(Batch) error) error {
	for seen := after; ; {
		newest, err := f.Wait(ctx, seen)
		if err != nil {
			return err
		}
		if err := f.Through(ctx, seen, newest, fn); err != nil {
			return err
		}
		seen = newest
	}
}

// Through calls fn with every commit above after and up to through, which are visible, in order. It
// does not wait. The errors are those of Run.
func (f *Follower) Through(
	ctx context.Context, after, through uint64, fn func(Batch) error,
) (err error) {
	for seen := after; seen < through && err == nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		payload, kept := f.pipeline.recent.get(seen + 1)
		switch {
		case !kept:
			seen, err = f.replay(ctx, seen, through, fn)
		case payload == nil:
			err = ErrLagged
		default:
			seen++
			b := NewBatch(seen, payload)
			b.isKept = true
			err = fn(b)
		}
	}
	return err
}

// Wait returns the newest visible commit once it is above seen, the error of Stop if there will be
// none, and the error of ctx when it ends.
func (f *Follower) Wait(ctx context.Context, seen uint64) (newest uint64, err error) {
	if newest, err = f.look(ctx, seen); newest > seen || err != nil {
		return newest, err
	}
	for {
		b := f.pipeline.recent.nextBell() // before the look, or it would not ring for what comes between
		if newest, err = f.look(ctx, seen); newest > seen || err != nil {
			return newest, err
		}
		if err := b.wait(ctx); err != nil {
			return 0, err
		}
	}
}

// look is Wait without waiting: it returns 0 if there is nothing to return yet.
func (f *Follower) look(ctx context.Context, seen uint64) (newest uint64, err error) {
	ended := f.pipeline.recent.ended.Load() // before the newest commit
	newest = f.newest.Load()
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case newest > seen:
		return newest, nil
	case ended != nil:
		return 0, ended.err
	}
	return 0, nil
}

// replay is Run for the commits from after to through, which are visible, from the log. It returns
// the last one that fn was called with.
//
// It takes no lock: a segment may be removed at any time, and then its commits are gone. The frames
// up to through are in the files; those behind may be being written, and are not looked at.
func (f *Follower) replay(
	ctx context.Context, after, through uint64, fn func(Batch) error,
) (seen uint64, err error) {
	seen = after
	segments, err := f.segments(after + 1)
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
		f.pipeline.recent.ended.Load() != nil && errors.Is(err, fs.ErrClosed):
		return seen, ErrLagged
	}
	return seen, err
}

// replaySegment is replay for one segment, which may have only some of the commits. The error is
// errThrough after the last one.
func (f *Follower) replaySegment(
	ctx context.Context, number, after, through uint64, fn func(Batch) error,
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
		if stopped = fn(Batch{Commit: commit, payloads: payloads}); stopped == nil && commit == through {
			stopped = errThrough
		}
		return stopped
	}
	seen, err = wal.ReplayFrom(f.log.Files, f.log.Dir, number, f.log.Database, from, after, each)
	if stopped == errThrough {
		seen = through
	}
	return seen, cmp.Or(stopped, err)
}

// errThrough ends the reading of a log segment before what may not be looked at.
var errThrough = errors.New("all that was asked for is read")

// segment is a file of the log that starts with the commit first.
type segment struct{ number, first uint64 }

// segments returns the log segments that may have the given commit and those above it, in order:
// those that recovery would read, and those that are kept for the values in them.
func (f *Follower) segments(commit uint64) ([]segment, error) {
	numbers, err := f.log.Segments()
	if err != nil {
		return nil, err
	}
	var all []segment
	for _, number := range slices.Backward(numbers) {
		first, ok, err := wal.First(f.log.Files, f.log.Dir, number, f.log.Database)
		if errors.Is(err, fs.ErrNotExist) {
			break // it was removed meanwhile, and those before it are of no use alone
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // it has no commit yet
		}
		all = append(all, segment{number, first})
		if first <= commit {
			break
		}
	}
	slices.Reverse(all)
	return all, nil
}
