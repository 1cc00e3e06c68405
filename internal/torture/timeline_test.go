package torture

import (
	"fmt"
	"sync"

	"github.com/stoatdb/stoat/internal/model"
)

// timeline is the states that a database goes through, one a commit, and what it has promised about
// them. It is the oracle: whatever is recovered or read must be one of these states, and none older
// than promised. What has expired is no longer in any of them. Safe for concurrent use.
type timeline struct {
	clock *model.Clock // by which entries expire

	mu     sync.Mutex
	states []*model.Bucket // after commit i; states[0] is empty; never changed
	acked  int             // the newest commit that has returned
	synced int             // the newest commit that is known to be durable
}

func newTimeline() *timeline {
	clock := model.NewClock()
	return &timeline{clock: clock, states: []*model.Bucket{model.New(clock).Root()}}
}

// promise is the range of states that are allowed.
type promise struct{ oldest, newest int }

// newest returns the state after all commits so far.
func (l *timeline) newest() *model.Bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[len(l.states)-1]
}

// commit records that a transaction with this outcome is about to commit, and returns its number.
func (l *timeline) commit(state *model.Bucket) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = append(l.states, state)
	return len(l.states) - 1
}

// retract records that the newest commit has failed and must not be seen.
func (l *timeline) retract() {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.states) - 1
	l.states = l.states[:n:n] // others may still look at what is cut off
}

// ack records that a commit has returned, durable or not.
func (l *timeline) ack(commit int, durable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = max(l.acked, commit)
	if durable {
		l.synced = max(l.synced, commit)
	}
}

// state returns the state after a commit.
func (l *timeline) state(commit int) *model.Bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[commit]
}

// marks returns the newest commits that have returned, that are durable, and that have begun.
func (l *timeline) marks() (acked, synced, begun int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked, l.synced, len(l.states) - 1
}

// match returns which of the promised states got is by the clock, preferring the newest.
func (l *timeline) match(got *model.Bucket, p promise, clock *model.Clock) (int, error) {
	l.mu.Lock()
	states := l.states
	l.mu.Unlock()
	for i := p.newest; i >= p.oldest; i-- {
		if got.Equal(states[i].By(clock)) {
			return i, nil
		}
	}
	for i := p.oldest - 1; i >= 0; i-- {
		if got.Equal(states[i].By(clock)) {
			return 0, fmt.Errorf("the state is that of commit %d, want one of %d to %d: "+
				"lost commits", i, p.oldest, p.newest)
		}
	}
	return 0, fmt.Errorf("the state is that of no commit; compared with commit %d: %s; with %d: %s",
		p.oldest, model.Diff(got, states[p.oldest].By(clock)),
		p.newest, model.Diff(got, states[p.newest].By(clock)))
}
