package engine

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"
)

// writerLock is the lock of write transactions. Unlike with a mutex, a goroutine that waits for it
// when the engine closes gets ErrClosed, although the holder may never release it, and one that
// would deadlock gets ErrDeadlock. The holder has an item in the channel, which has room for one.
type writerLock struct {
	c      chan struct{}
	holder atomic.Uint64 // how often it was taken, above heldBits that say what its holder does
}

// held says what the holder of the writer lock does.
type held uint64

const (
	heldByTx     held = iota // it has a transaction open, or commits it
	heldInUpdate             // the same, in the function given to [Writer.Run]
	heldToFlush
	heldByJob // it is background work
)

// heldText says it to people.
var heldText = [...]string{
	heldByTx: "a writable transaction", heldInUpdate: "an Update", heldToFlush: "a flush",
	heldByJob: "background work",
}

const heldBits = 8

// what returns what the holder does.
func what(holder uint64) held { return held(holder & (1<<heldBits - 1)) }

const (
	// lookFirst is how long a goroutine waits before it looks for a deadlock. Most wait less.
	lookFirst = 10 * time.Millisecond
	// lookAgain is the pause between two looks.
	lookAgain = 100 * time.Millisecond
)

func newWriterLock() writerLock { return writerLock{c: make(chan struct{}, 1)} }

// lock takes the lock. It fails if ctx ends or the engine closes before the holder releases it, or
// if waiting would deadlock.
func (l *writerLock) lock(ctx context.Context, stop <-chan struct{}, by held) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if l.tryLock(by) {
		return nil
	}
	start, first := time.Now(), l.holder.Load()
	look := time.NewTimer(lookFirst)
	defer look.Stop()
	var outer int64
	for {
		select {
		case l.c <- struct{}{}:
			l.take(by)
			return nil
		case <-ctx.Done():
			return l.cancelled(ctx, time.Since(start), first)
		case <-stop:
			return ErrClosed
		case <-look.C:
		}
		if outer == 0 {
			outer = outerRuns()
		}
		switch {
		case outer == 0: // not inside Run, so this goroutine cannot deadlock
		case l.heldByOuter(outer):
			return ErrDeadlock
		default:
			look.Reset(lookAgain)
		}
	}
}

func (l *writerLock) tryLock(by held) bool {
	select {
	case l.c <- struct{}{}:
		l.take(by)
		return true
	default:
		return false
	}
}

// take records the new holder.
func (l *writerLock) take(by held) {
	l.holder.Store((l.holder.Load()>>heldBits+1)<<heldBits | uint64(by))
}

func (l *writerLock) unlock() { <-l.c }

func (l *writerLock) isHeld() bool { return len(l.c) > 0 }

// cancelled returns the error of a wait that ctx ended, which began with the given holder.
func (l *writerLock) cancelled(ctx context.Context, waited time.Duration, first uint64) error {
	now := l.holder.Load()
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

// runs is how many calls of [Writer.Run] are under way in this process.
var runs atomic.Int64

// Run calls fn, in which the caller uses the transaction, and returns its error. If fn waits for
// the writer lock in the same goroutine, it gets ErrDeadlock.
//
// To identify a goroutine takes microseconds, too long for each transaction. But a goroutine that
// has waited long can look for Run on its own stack. If it finds as many calls as are under way in
// the process, the one that holds the lock is among them.
//
//go:noinline
func (w *Writer) Run(fn func() error) error {
	l := &w.engine.writer.writerLock
	runs.Add(1)
	times := l.holder.Load() &^ (1<<heldBits - 1)
	l.holder.Store(times | uint64(heldInUpdate))
	defer func() {
		// fn may have released the lock by a rollback.
		l.holder.CompareAndSwap(times|uint64(heldInUpdate), times|uint64(heldByTx))
		runs.Add(-1)
	}()
	return fn()
}

// heldByOuter reports whether the lock is surely held by one of the calls of Run on this
// goroutine's stack, whose number is outer.
func (l *writerLock) heldByOuter(outer int64) bool {
	holder := l.holder.Load()
	return what(holder) == heldInUpdate && runs.Load() == outer && l.holder.Load() == holder
}

// outerRuns returns how many calls of Run are on this goroutine's stack.
func outerRuns() (n int64) {
	run := reflect.ValueOf((*Writer).Run).Pointer()
	pcs := make([]uintptr, 128)
	for skip := 0; ; skip += len(pcs) {
		got := runtime.Callers(skip, pcs)
		for _, pc := range pcs[:got] {
			if f := runtime.FuncForPC(pc - 1); f != nil && f.Entry() == run {
				n++
			}
		}
		if got < len(pcs) {
			return n
		}
	}
}
