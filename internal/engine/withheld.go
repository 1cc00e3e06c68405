package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/superversion"
)

// ErrUnknown reports that a commit is durable here and may not become visible: nobody has
// acknowledged it yet.
var ErrUnknown = errors.New("the commit waits to be acknowledged, and its outcome is unknown")

// withheld keeps what is durable here from readers until the shipper acknowledges it: the states
// that were published since the newest one that readers may see. A transaction still begins on the
// newest state of all, as it does on commits whose sync is not done, and waits for what it reads.
//
// Nothing is held while a commit waits, so flushes, compactions and other commits go on. Its fields
// stay zero if nothing is withheld. Safe for concurrent use; its mutex comes after that of the
// engine.
type withheld struct {
	on    bool          // set when the engine is opened
	shown atomic.Uint64 // the newest commit that readers may see

	mu      sync.Mutex
	through uint64                       // the newest commit that is acknowledged
	states  []*superversion.Superversion // later than what readers see, in the order of commits
	moved   chan struct{}                // closed when something here has changed
	err     error                        // why nothing more will be acknowledged
}

// begin withholds what comes after a commit.
func (w *withheld) begin(commit uint64) {
	w.on, w.through, w.moved = true, commit, make(chan struct{})
	w.shown.Store(commit)
}

// keep reports whether a state that was published must not be shown yet.
func (w *withheld) keep(next *superversion.Superversion) bool {
	if !w.on {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if next.Commit <= w.through {
		return false // nothing is as new as that but what readers see
	}
	if n := len(w.states); n > 0 && w.states[n-1].Commit == next.Commit {
		w.states[n-1] = next
	} else {
		w.states = append(w.states, next)
	}
	return true
}

// reach records that commits are acknowledged, and returns the newest state that may be shown now;
// nil if that is none.
func (w *withheld) reach(through uint64) (newest *superversion.Superversion) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.through = max(w.through, through)
	n := 0
	for n < len(w.states) && w.states[n].Commit <= w.through {
		n++
	}
	if n == 0 {
		return nil
	}
	newest = w.states[n-1]
	rest := copy(w.states, w.states[n:])
	clear(w.states[rest:])
	w.states = w.states[:rest]
	return newest
}

// show records that readers see a commit.
func (w *withheld) show(commit uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown.Store(commit)
	w.moveLocked()
}

// fail records that nothing more will be acknowledged. The first reason stays.
func (w *withheld) fail(err error) {
	if !w.on {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		w.moveLocked()
	}
}

func (w *withheld) moveLocked() {
	close(w.moved)
	w.moved = make(chan struct{})
}

// wait returns when readers may see a commit, or why they may never.
func (w *withheld) wait(ctx context.Context, commit uint64) error {
	for w.on && w.shown.Load() < commit {
		w.mu.Lock()
		err, moved := w.err, w.moved
		w.mu.Unlock()
		switch {
		case w.shown.Load() >= commit: // before the look at err
			return nil
		case err != nil:
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnknown, context.Cause(ctx))
		}
	}
	return nil
}

// Acknowledge lets readers see the commits up to the given one, which was made, and their callers
// go on. It is for a shipper that withholds, one call at a time. Commits that became durable here
// together are seen together, once the last of them is acknowledged.
func (e *Engine) Acknowledge(through uint64) {
	e.mu.Lock()
	next := e.withheld.reach(through)
	if next != nil && !e.closed.Load() {
		e.current.Store(next)
	}
	e.mu.Unlock()
	if next != nil {
		e.commits.Show(next.Commit)
		e.withheld.show(next.Commit)
	}
}

// Refuse ends all writing because of cause: what is not acknowledged never will be. Readers go on.
func (e *Engine) Refuse(cause error) { _ = e.poisonWith(&poison{cause: cause, refused: true}) }

// Abandon says that nobody acknowledges anything any more. Whether what waits counts is unknown.
func (e *Engine) Abandon(why error) { e.withheld.fail(fmt.Errorf("%w: %w", ErrUnknown, why)) }
