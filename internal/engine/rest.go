package engine

import "time"

const (
	// restWaits, times Tuning.RestAfter, is how long what is deleted keeps its space for want of a
	// pause in the commits, or because it is little beside the tables that it is to be cut out of;
	// and a file that could not be removed.
	restWaits = 60
	// cutShare, times what is deleted, is what those tables may have if it is not to wait.
	cutShare = 8
)

// rest flushes the memtable of a database that nobody writes to any more, so that it takes little
// memory, and closing it little time; and one that deletes much of what is in tables, so that
// compactions can give back its space. While there is a reason to look again, one timer runs; no
// commit sets it.
func (e *Engine) restLater() {
	if e.resting.Load() || !e.resting.CompareAndSwap(false, true) {
		return
	}
	e.watch(e.commits.Newest(), 0)
}

// watch looks again after a while whether there were commits since the given one. It has done so
// some times.
func (e *Engine) watch(seen uint64, times int) {
	e.restTimer.Store(time.AfterFunc(e.options.Tuning.RestAfter, func() {
		if e.writable() != nil {
			return
		}
		newest, times := e.commits.Newest(), times+1
		wanted, later := e.wantsRest(newest == seen, times >= restWaits)
		switch {
		case wanted && e.restNow():
			later = false
		case wanted:
			later = true
		}
		if times >= restWaits {
			times = 0
			e.removeAgain()
		}
		if later || newest != seen || e.undeleted.Load() {
			e.watch(newest, times)
			return
		}
		e.resting.Store(false)
		if e.commits.Newest() != newest {
			e.restLater() // a commit has come in between, and relied on this timer
		}
	}))
}

// wantsRest reports whether to flush the memtable now, with or without a pause in the commits, and
// whether it may be worth it later even if there are none.
func (e *Engine) wantsRest(pause, long bool) (now, later bool) {
	if pause && e.activeBytes.Load() >= e.options.Tuning.RestBytes {
		return true, false
	}
	if !pause && !long {
		return false, false
	}
	garbage, cut := e.unflushedGarbage()
	if garbage < e.options.Tuning.RestGarbage {
		return false, false
	}
	return long || cut/cutShare <= garbage, true
}

// removeAgain tries again to remove what could not be removed, perhaps because somebody still read
// it. It does nothing once the engine is closed: then the folder may be another's.
func (e *Engine) removeAgain() {
	e.installing.Lock()
	defer e.installing.Unlock()
	if e.undeleted.Swap(false) && !e.closed.Load() {
		e.removeGarbage()
	}
}

// restNow starts the flush of the memtable, unless somebody is writing or there is another flush.
func (e *Engine) restNow() (started bool) {
	if !e.writer.tryLock(heldToFlush) {
		return false
	}
	defer e.writer.unlock()
	e.mu.Lock()
	busy := len(e.mu.sealed) > 0 || e.closed.Load()
	e.mu.Unlock()
	if busy {
		return false
	}
	if err := e.seal(); err != nil {
		e.options.Logger.Warn("flush at rest", "dir", e.dir, "err", err)
	}
	return true
}
