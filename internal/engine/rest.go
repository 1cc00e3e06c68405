package engine

import (
	"sync/atomic"
	"time"
)

const (
	// A large memtable is flushed after a pause of Tuning.RestAfter. For restApart times as long
	// after that, only a pause of longPause times RestAfter has another one flushed: bursts of
	// commits with short pauses between them do not make many small tables.
	longPause = 5
	restApart = 50
	// restWaits, times Tuning.RestAfter, is how long deleted data keeps its space if commits never
	// pause, or if it is little compared with the tables that it is to be cut out of. It is also
	// the pause before a file that could not be removed is tried again.
	restWaits = 300
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
	flushed atomic.Pointer[time.Time]  // when the last flush started; nil before that
	paused  atomic.Uint64              // 1 + the last commit that a pause came after; 0 if none did
}

// later has the timer run.
func (r *rest) later() {
	if r.running.Load() || !r.running.CompareAndSwap(false, true) {
		return
	}
	r.watch(waited{seen: r.engine.commits.Newest()})
}

// stop ends the timer of a closed engine, which it would keep reachable.
func (r *rest) stop() {
	if t := r.timer.Load(); t != nil {
		t.Stop()
	}
}

// waited is what the timer has seen, counted in times that it ran.
type waited struct {
	seen  uint64 // the newest commit
	quiet int    // times since that commit
	times int    // times since the last flush, or since it last reached restWaits
}

// watch looks after a while whether there were commits since then.
func (r *rest) watch(w waited) {
	e := r.engine
	r.timer.Store(time.AfterFunc(e.options.Tuning.RestAfter, func() {
		if e.writable() != nil {
			return
		}
		newest := e.commits.Newest()
		paused := newest == w.seen && !e.isWriting(newest)
		w.times++
		if w.quiet++; !paused {
			w.seen, w.quiet = newest, 0
		} else if time.Duration(w.quiet)*e.options.Tuning.RestAfter >= e.options.Tuning.IdleAfter {
			r.notePause(newest)
		}
		wanted, again := r.wants(w)
		if wanted {
			again = !r.flush()
		}
		if w.times >= restWaits {
			w.times = 0
			e.removeAgain()
		}
		if again || !paused || e.undeleted.Load() {
			r.watch(w)
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
func (r *rest) wants(w waited) (now, later bool) {
	e := r.engine
	if w.quiet > 0 && r.large() && (w.quiet >= longPause || r.rested()) {
		return true, false
	}
	long := w.times >= restWaits
	if w.quiet < longPause && !long {
		return false, true
	}
	garbage, cut := e.unflushedGarbage()
	if garbage < e.options.Tuning.RestGarbage {
		return false, false
	}
	return long || cut/cutShare <= garbage, true
}

// isWriting reports whether the newest commit waits for the log, or a writer for a flush. Then
// commits do not pause: more of them come right after that.
func (e *Engine) isWriting(newest uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.roomless > 0 || e.Local() != newest
}

// notePause records that there was a pause of Tuning.IdleAfter after a commit, the newest one.
func (r *rest) notePause(commit uint64) { r.paused.Store(commit + 1) }

// forgetPause makes the next compaction that tidies up wait for a new pause.
func (r *rest) forgetPause() { r.paused.Store(0) }

// isPause reports whether there was such a pause after the newest commit.
func (r *rest) isPause() bool { return r.paused.Load() == r.engine.commits.Newest()+1 }

// large reports whether the memtable is large enough to be flushed in a pause.
func (r *rest) large() bool {
	return r.engine.memory.active.Load() >= r.engine.options.Tuning.RestBytes
}

// rested reports whether the last flush is so long ago that a short pause is enough for another.
func (r *rest) rested() bool {
	last := r.flushed.Load()
	return last == nil || time.Since(*last) >= restApart*r.engine.options.Tuning.RestAfter
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
	now := time.Now()
	r.flushed.Store(&now)
	if err := e.sealAsWriter(); err != nil {
		e.options.Logger.Warn("flush at rest", "dir", e.dir, "err", err)
	}
	return true
}
