package tail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/history"
)

// Status is how far a tail is.
type Status struct {
	Age      time.Duration // since the replica had all of the log
	Claiming time.Time     // since when the role of the writer is being taken; zero if it is not
	Failed   error         // of the last try, of that if it is; nil if it succeeded
}

// Status returns how far the tail is.
func (t *Tail) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Status{time.Since(t.current), t.claimSince, cmp.Or(t.claimFailed, t.failed)}
}

// claiming records since when the role of the writer is being taken, and why the last try failed.
func (t *Tail) claiming(since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claimSince, t.claimFailed = since, err
}

// WaitFor returns when a position is visible. The error is history.ErrLost if it never will be,
// engine.ErrClosed after Close, or that of ctx.
func (t *Tail) WaitFor(ctx context.Context, p engine.Position) error {
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	for {
		t.mu.Lock()
		moved, failed, ended := t.moved, t.failed, t.ended
		t.mu.Unlock()
		standing := t.replica.Standing(p)
		switch {
		case standing == engine.Visible:
			return nil
		case standing == engine.Lost:
			return history.ErrLost
		case ended:
			return engine.ErrClosed
		}
		t.poke()
		select {
		case <-moved:
		case <-ctx.Done():
			err := errors.Join(context.Cause(ctx), failed)
			if standing == engine.Unknown {
				return fmt.Errorf("the position is of another database, or its writer has not shipped "+
					"anything yet: %w", err)
			}
			return fmt.Errorf("commit %d is not in the store yet: %w", p.Commit(), err)
		}
	}
}

// Missing says that a file of the version that the replica shows is missing. The tail asks for a
// newer state at once.
func (t *Tail) Missing() {
	t.gone.Store(true)
	t.poke()
}

// poke has the loop look at the log now.
func (t *Tail) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// note records the outcome of a try that began at some time.
func (t *Tail) note(began time.Time, more bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := more || (err == nil) != (t.failed == nil)
	if t.failed = err; err == nil && !more {
		t.current = began
	}
	if changed {
		t.moveLocked()
	}
}

func (t *Tail) moveLocked() {
	close(t.moved)
	t.moved = make(chan struct{})
}

// sleep waits for d, or for an item of early, which it reports, or for the end of ctx.
func sleep(ctx context.Context, d time.Duration, early <-chan struct{}) (woken bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
		return true
	case <-ctx.Done():
	}
	return false
}
