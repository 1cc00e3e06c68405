package crash

import (
	"math/rand/v2"
	"sync"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// Timeline is the sequence of states of a database, one per commit, and what it promised about
// them. It is the oracle: any state found must be one of these, and none older than promised.
// Commits are numbered from 1; 0 is the start. Safe for concurrent use as long as the states do not
// change.
type Timeline[S any] struct {
	mu     sync.Mutex
	states []S // after each commit
	acked  int // the newest commit that returned
	synced int // the newest commit that is known to be durable
}

// NewTimeline returns the timeline of a database in a durable state.
func NewTimeline[S any](first S) *Timeline[S] { return &Timeline[S]{states: []S{first}} }

// Promise is the range of allowed states by their commits.
type Promise struct{ Oldest, Newest int }

// Commit records that from now on there may be a commit with this state, and returns its number.
func (l *Timeline[S]) Commit(next S) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = append(l.states, next)
	return len(l.states) - 1
}

// Settle records that this commit is the newest and that later states never existed.
func (l *Timeline[S]) Settle(commit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = l.states[: commit+1 : commit+1] // others may still read the rest
}

// Ack records that a commit returned, durable or not.
func (l *Timeline[S]) Ack(commit int, durable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = max(l.acked, commit)
	if durable {
		l.synced = max(l.synced, commit)
	}
}

// Sync calls fn, which makes all acknowledged commits durable unless it returns an error.
func (l *Timeline[S]) Sync(fn func() error) error {
	acked := l.Acked()
	if err := fn(); err != nil {
		return err
	}
	l.Ack(acked, true)
	return nil
}

// Acked returns the newest commit that returned.
func (l *Timeline[S]) Acked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}

// Begun returns the newest commit that may have begun.
func (l *Timeline[S]) Begun() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.states) - 1
}

// Newest returns the state after all commits so far.
func (l *Timeline[S]) Newest() S {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[len(l.states)-1]
}

// State returns the state after a commit.
func (l *Timeline[S]) State(commit int) S {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[commit]
}

// Until returns the states up to a commit. The caller must not change them.
func (l *Timeline[S]) Until(commit int) []S {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[: commit+1 : commit+1]
}

// Promised returns the states that a crash may leave now. A running database is in one of those
// that crash.All allows.
func (l *Timeline[S]) Promised(kept Kept) Promise {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := Promise{Oldest: l.synced, Newest: len(l.states) - 1}
	if kept == All {
		p.Oldest = l.acked
	}
	return p
}

// Cut returns the disk as a crash leaves it now, and the states that it may be in: at least what
// was acknowledged before the copy, at most what began before its end.
func (l *Timeline[S]) Cut(disk *memfs.FS, kept Kept, rng *rand.Rand) (*memfs.FS, Promise) {
	p := l.Promised(kept)
	left := kept.Of(disk, rng)
	p.Newest = l.Begun()
	return left, p
}
