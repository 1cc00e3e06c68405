package layers

import "sync"

// state is what a model is after a commit. It never changes once it is in a timeline.
type state[S any] interface {
	clone() S
}

// timeline is the states that a layer goes through, one a commit, and what the database has
// promised about them. It is the oracle: whatever is found must be one of these states, and none
// older than promised. Safe for concurrent use.
type timeline[S state[S]] struct {
	mu     sync.Mutex
	states []S // after commit i; states[0] is where it began
	acked  int // the newest commit that has returned
	synced int // the newest commit that is known to be durable
}

func newTimeline[S state[S]](first S) *timeline[S] { return &timeline[S]{states: []S{first}} }

// promise is the range of states that are allowed.
type promise struct{ oldest, newest int }

// newest returns the state after all commits so far.
func (l *timeline[S]) newest() S {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[len(l.states)-1]
}

// commit records that there may be a commit with this outcome from now on, and returns its number.
func (l *timeline[S]) commit(next S) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = append(l.states, next)
	return len(l.states) - 1
}

// settle records that the states behind this one never were.
func (l *timeline[S]) settle(commit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = l.states[: commit+1 : commit+1] // others may still look at what is cut off
}

// ack records that a commit has returned, durable or not.
func (l *timeline[S]) ack(commit int, durable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = max(l.acked, commit)
	if durable {
		l.synced = max(l.synced, commit)
	}
}

// marks returns the newest commits that have returned, that are durable, and that may have begun.
func (l *timeline[S]) marks() (acked, synced, begun int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked, l.synced, len(l.states) - 1
}

// until returns the states up to that after a commit.
func (l *timeline[S]) until(commit int) []S {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[: commit+1 : commit+1]
}
