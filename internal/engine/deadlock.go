package engine

import (
	"reflect"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// lookFirst is how long a goroutine waits for the writer lock before it looks for a deadlock.
	// Most wait less.
	lookFirst = 10 * time.Millisecond
	// lookAgain is the pause between two looks.
	lookAgain = 100 * time.Millisecond
)

// armLocked sets the timer. All waiters share it, because most waits end long before it fires.
func (l *writerLock) armLocked(d time.Duration) {
	l.armed = true
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.lookAtLong)
	} else {
		l.timer.Reset(d)
	}
}

// lookAtLong has the waiters that have waited for lookFirst look for a deadlock.
func (l *writerLock) lookAtLong() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	for _, w := range l.queue {
		if w.long {
			continue
		}
		if left := lookFirst - time.Since(w.since); left > 0 {
			l.armLocked(left)
			return
		}
		w.long = true
		w.look()
	}
}

// runs is how many calls of [Writer.Run] are in progress in this process.
var runs atomic.Int64

// Run calls fn, in which the caller uses the transaction, and returns its error. If fn waits for
// the writer lock in the same goroutine, it gets ErrDeadlock.
//
// Identifying a goroutine takes microseconds, too long for each transaction. But a goroutine that
// has waited long can look for Run on its own stack. If it finds as many calls as are in progress
// in the process, one of them holds the lock.
//
//go:noinline
func (w *Writer) Run(fn func() error) error {
	l := &w.engine.writer.writerLock
	runs.Add(1)
	times := l.word.Load() &^ (taken - 1)
	l.word.Store(times | uint64(heldInUpdate))
	defer func() {
		// fn may have released the lock by a rollback.
		l.word.CompareAndSwap(times|uint64(heldInUpdate), times|uint64(heldByTx))
		runs.Add(-1)
	}()
	return fn()
}

// heldByOuter reports whether the lock is surely held by one of the calls of Run on this
// goroutine's stack, whose number is outer.
func (l *writerLock) heldByOuter(outer int64) bool {
	word := l.word.Load()
	return word&taken != 0 && what(word) == heldInUpdate && runs.Load() == outer &&
		l.word.Load() == word
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
