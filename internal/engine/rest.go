package engine

import "time"

// rest flushes the memtable of a database that nobody writes to any more, so that it takes little
// memory, and closing it little time. While there are commits, one timer runs, which is set anew
// when it finds that there were some; no commit sets it.
func (e *Engine) restLater() {
	if e.resting.Load() || !e.resting.CompareAndSwap(false, true) {
		return
	}
	e.watch(e.committed.Load())
}

// watch looks again after a while whether there were commits since the given one.
func (e *Engine) watch(seen uint64) {
	e.restTimer.Store(time.AfterFunc(e.options.Tuning.RestAfter, func() {
		switch newest := e.committed.Load(); {
		case e.writable() != nil:
		case newest != seen:
			e.watch(newest)
		default:
			e.resting.Store(false)
			e.restNow()
		}
	}))
}

// restNow starts the flush of a large memtable, unless somebody is writing.
func (e *Engine) restNow() {
	if e.activeBytes.Load() < e.options.Tuning.RestBytes {
		return
	}
	if !e.writer.tryLock(heldToFlush) {
		e.restLater()
		return
	}
	defer e.writer.unlock()
	e.mu.Lock()
	busy := len(e.sealed) > 0 || e.closed.Load()
	e.mu.Unlock()
	if busy {
		e.restLater()
		return
	}
	if err := e.seal(); err != nil {
		e.options.Logger.Warn("flush at rest", "dir", e.dir, "err", err)
	}
}
