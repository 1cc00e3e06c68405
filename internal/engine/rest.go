package engine

import (
	"sync/atomic"
	"time"
)

const (
	// restWaits, times Tuning.RestAfter, is how long deleted data keeps its space if commits never
	// pause, or if it is little compared with the tables that it is to be cut out of. It is also
	// the pause before a file that could not be removed is tried again.
	restWaits = 60
	// cutShare, times what is deleted, is how large those tables may be for it not to wait.
	cutShare = 8
)

// rest flushes the memtable of a database that nobody writes to any more, so that it takes little
// memory and closes fast, and a memtable that deletes much of what is in tables, so that
// compactions can give back the space. While there is a reason to look again, one timer runs; no
// commit resets it. Safe for concurrent use.
type rest struct {
	engine  *Engine
	running atomic.Bool                // the timer runs
	timer   atomic.Pointer[time.Timer] // it, or the one before
}

// later has the timer run.
func (r *rest) later() {
	if r.running.Load() || !r.running.CompareAndSwap(false, true) {
		return
	}
	r.watch(r.engine.commits.Newest(), 0)
}

// stop ends the timer of a closed engine, which it would keep reachable.
func (r *rest) stop() {
	if t := r.timer.Load(); t != nil {
		t.Stop()
	}
}

// watch looks after a while whether there were commits since the given one. It has looked so many
// times since the last flush.
func (r *rest) watch(seen uint64, times int) {
	e := r.engine
	r.timer.Store(time.AfterFunc(e.options.Tuning.RestAfter, func() {
		if e.writable() != nil {
			return
		}
		newest, times := e.commits.Newest(), times+1
		wanted, again := r.wants(newest == seen, times >= restWaits)
		if wanted {
			again = !r.flush()
		}
		if times >= restWaits {
			times = 0
			e.removeAgain()
		}
		if again || newest != seen || e.undeleted.Load() {
			r.watch(newest, times)
			return
		}
		r.running.Store(false)
		if e.commits.Newest() != newest {
			r.later() // a commit has come in between and relied on this timer
		}
	}))
}

// wants reports whether to flush the memtable now, after a pause in the commits or a long time, and
// whether it may be worth it later even without more commits.
func (r *rest) wants(pause, long bool) (now, later bool) {
	e := r.engine
	if pause && e.memory.active.Load() >= e.options.Tuning.RestBytes {
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

// flush starts the flush of the memtable, unless somebody writes or flushes already.
func (r *rest) flush() (started bool) {
	e := r.engine
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
	if err := e.sealAsWriter(); err != nil {
		e.options.Logger.Warn("flush at rest", "dir", e.dir, "err", err)
	}
	return true
}
