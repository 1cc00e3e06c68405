package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// writerLock is the lock of write transactions. Unlike a mutex, it fails a goroutine whose context
// ends, one that would deadlock, and every waiter when it is closed, even if the holder never
// releases it. The zero value is ready for use.
//
// A running goroutine takes a free lock even if others wait, because waking one of them takes
// longer than a short transaction. An unlock wakes at most the first waiter, which then competes
// with running goroutines. If it loses after it has waited for longer than patience, the next
// unlock hands the lock over to it.
type writerLock struct {
	// word counts how often the lock was taken, above heldBits that say whether it is and for what.
	// While it is taken, only the holder changes word.
	word atomic.Uint64
	next atomic.Uint32 // a turn: what the next unlock does; set with mu held

	mu     sync.Mutex // held for moments
	queue  []*waiter  // the longest wait first
	awake  bool       // the first waiter was woken and has not competed since
	closed bool
	timer  *time.Timer // calls lookAtLong; nil if it was never needed
	armed  bool        // the timer runs
}

// waiter is a goroutine that waits for the writer lock. The lock's mutex guards its flags.
type waiter struct {
	by      held
	since   time.Time
	changed chan struct{} // holds an item if the waiter is to look at what has changed

	has     bool // it was handed the lock
	overdue bool // it was woken and lost after it had waited for longer than patience
	long    bool // it has waited for lookFirst, and is to look for a deadlock
}

// turn is what an unlock does about waiters.
type turn uint32

const (
	wakeNobody turn = iota // nobody waits, or the first waiter is already awake
	wakeFirst
	handOver
)

// held says what the holder of the writer lock does.
type held uint64

const (
	heldByTx     held = iota // it has a transaction open, or commits it
	heldInUpdate             // the same, in the function given to [Writer.Run]
	heldToFlush
	heldByJob // it is background work
)

// heldText is how messages say what the holder does. It is immutable.
var heldText = [...]string{
	heldByTx: "a writable transaction", heldInUpdate: "an Update", heldToFlush: "a flush",
	heldByJob: "background work",
}

const (
	heldBits = 8
	taken    = 1 << (heldBits - 1) // the bit that is set while the lock is held
)

// what returns what the holder does, or what the last holder did.
func what(word uint64) held { return held(word & (taken - 1)) }

// retaken returns the word of the lock once it is taken again.
func retaken(word uint64, by held) uint64 {
	return (word>>heldBits+1)<<heldBits | taken | uint64(by)
}

// patience is how long running goroutines may take the lock before the first waiter.
const patience = time.Millisecond

// lock takes the lock. It fails if ctx ends or the lock is closed before the holder releases it, or
// if waiting would deadlock.
func (l *writerLock) lock(ctx context.Context, by held) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if l.tryLock(by) {
		return nil
	}
	first := l.word.Load()
	w := &waiter{by: by, since: time.Now(), changed: make(chan struct{}, 1)}
	l.join(w)
	outer := int64(-1) // calls of Run on this goroutine's stack; not known yet
	var again <-chan time.Time
	for {
		has, long, err := l.compete(w)
		if has || err != nil {
			return err
		}
		if long && outer < 0 {
			outer = outerRuns()
		}
		if outer > 0 { // otherwise this goroutine cannot deadlock
			if l.heldByOuter(outer) {
				return l.leave(w, ErrDeadlock)
			}
			again = time.After(lookAgain)
		}
		select {
		case <-w.changed:
		case <-again:
		case <-ctx.Done():
			return l.leave(w, l.cancelled(ctx, time.Since(w.since), first))
		}
	}
}

func (l *writerLock) tryLock(by held) bool {
	word := l.word.Load()
	return word&taken == 0 && l.word.CompareAndSwap(word, retaken(word, by))
}

func (l *writerLock) unlock() {
	if turn(l.next.Load()) == handOver && l.handOver() {
		return
	}
	l.word.Store(l.word.Load() &^ taken)
	// A waiter sets next before it tries once more to take the lock: either it sees the lock free,
	// or this sees next.
	if turn(l.next.Load()) != wakeNobody {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.wakeLocked()
	}
}

// handOver makes the first waiter the holder. It returns false if no waiter is left.
func (l *writerLock) handOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return false
	}
	w := l.queue[0]
	l.removeLocked(w)
	w.has = true
	l.word.Store(retaken(l.word.Load(), w.by))
	w.look()
	return true
}

// wakeLocked wakes the first waiter, if there is one and it is not awake.
func (l *writerLock) wakeLocked() {
	if len(l.queue) > 0 && !l.awake {
		l.awake = true
		l.setNextLocked()
		l.queue[0].look()
	}
}

// look has the waiter look at what has changed.
func (w *waiter) look() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (l *writerLock) setNextLocked() {
	next := wakeNobody
	switch {
	case len(l.queue) == 0 || l.awake:
	case l.queue[0].overdue:
		next = handOver
	default:
		next = wakeFirst
	}
	l.next.Store(uint32(next))
}

func (l *writerLock) join(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, w)
	if !l.armed {
		l.armLocked(lookFirst)
	}
}

// compete takes the lock if it is free, and reports whether w has it, and whether w has waited
// long. It fails if the lock is closed. After it has failed or w has the lock, w has left the
// queue.
func (l *writerLock) compete(w *waiter) (has, long bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.has {
		return true, false, nil
	}
	if l.closed {
		l.removeLocked(w)
		return false, false, ErrClosed
	}
	if w == l.queue[0] {
		l.awake = false
		w.overdue = time.Since(w.since) > patience
	}
	l.setNextLocked()
	if l.tryLock(w.by) {
		l.removeLocked(w)
		return true, false, nil
	}
	return false, w.long, nil
}

// leave ends a wait with the error, unless w was handed the lock.
func (l *writerLock) leave(w *waiter, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.has {
		return nil
	}
	l.removeLocked(w)
	if !l.isHeld() {
		l.wakeLocked() // w may have been woken to take the lock
	}
	return err
}

// removeLocked removes w from the queue.
func (l *writerLock) removeLocked(w *waiter) {
	i := slices.Index(l.queue, w)
	if i == 0 {
		l.queue[0] = nil
		l.queue, l.awake = l.queue[1:], false
	} else {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	l.setNextLocked()
}

// close ends all waits, now and later.
func (l *writerLock) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, w := range l.queue {
		w.look()
	}
}

func (l *writerLock) isHeld() bool { return l.word.Load()&taken != 0 }

// cancelled returns the error of a wait that ctx ended, which began with the given holder.
func (l *writerLock) cancelled(ctx context.Context, waited time.Duration, first uint64) error {
	now := l.word.Load()
	turns := now>>heldBits - first>>heldBits
	since := "has held all the time"
	if turns > 0 {
		since = fmt.Sprintf("holds after %d others", turns)
	}
	return fmt.Errorf("waited %v for the writer lock, which %s %s: %w",
		waited.Round(time.Microsecond), heldText[what(now)], since, ended(ctx))
}

// ended returns an error that matches both that ctx has ended and why.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
