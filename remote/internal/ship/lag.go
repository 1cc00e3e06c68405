package ship

import (
	"sync"
	"time"
)

// lag is for how long commits have been waiting to be shipped. Its times are those of the monotonic
// clock: a wall clock that is set would block transactions, or let them through. Safe for
// concurrent use.
type lag struct {
	mu      sync.Mutex
	newest  uint64    // the newest commit that is known
	shipped uint64    // the newest commit in the store
	since   time.Time // since when the oldest commit waits, or earlier; zero: none does
}

// wait notes a commit that exists at a moment. It may be in the store by now.
func (l *lag) wait(commit uint64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = max(l.newest, commit)
	if commit > l.shipped && l.since.IsZero() {
		l.since = at
	}
}

// delivered notes that the store has the commits up to one, by a log object that was made at a
// moment when the newest one was through.
func (l *lag) delivered(commit, through uint64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shipped = max(l.shipped, commit)
	switch {
	case l.shipped >= l.newest:
		l.since = time.Time{}
	case l.shipped >= through:
		l.since = at // what came afterwards has not waited for longer
	}
}

// now returns for how long the oldest commit has been waiting, at most; 0 if none is.
func (l *lag) now() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return 0
	}
	return time.Since(l.since)
}
