package engine

import (
	"time"
)

// A failed flush or compaction is tried again after retryMin, then after twice as long each time,
// up to retryMax.
const (
	retryMin = 100 * time.Millisecond
	retryMax = 5 * time.Second

	// longestPause bounds how long a timer runs before it looks at the time again: a moment may lie
	// further ahead than a time.Duration can say.
	longestPause = 24 * time.Hour
)

// startJobs starts the goroutines that have work to do. Each ends when it finds no more. Picking a
// compaction takes time in proportion to the tables, so the caller must hold no lock that commits
// need.
func (e *Engine) startJobs() {
	if e.closed.Load() || e.options.ReadOnly {
		return
	}
	picker, version := e.picker(), e.state.Load().Levels.Version
	next, ok := picker.Next(version)
	again := picker.Again(version)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return
	}
	e.startFlushLocked()
	e.lookAgain.Store(true)
	switch {
	case ok && !e.mu.compacting:
		e.mu.compacting = true
		e.jobs.Go(e.compactLoop)
	case ok && !next.Idle:
		poke(e.due)
	}
	e.wakeLocked(again)
}

// startFlushLocked starts the goroutine that flushes, if there is work for it.
func (e *Engine) startFlushLocked() {
	if len(e.mu.sealed) > 0 && !e.mu.flushing && !e.closed.Load() {
		e.mu.flushing = true
		e.jobs.Go(e.flushLoop)
	}
}

// wakeLocked makes startJobs run no later than at, in milliseconds since 1970; 0 means never.
func (e *Engine) wakeLocked(at uint64) {
	if at == 0 || e.mu.wakeAt != 0 && e.mu.wakeAt <= at || e.closed.Load() {
		return
	}
	if e.mu.wake != nil {
		e.mu.wake.Stop()
	}
	e.mu.wakeAt = at
	e.mu.wake = time.AfterFunc(pauseUntil(at, e.now()), func() {
		e.mu.Lock()
		e.mu.wakeAt = 0
		e.mu.Unlock()
		e.startJobs()
	})
}

// pauseUntil returns how long to wait, for now, until at, both in milliseconds since 1970.
func pauseUntil(at, now uint64) time.Duration {
	left := at - min(at, now) + 1
	return time.Duration(min(left, uint64(longestPause.Milliseconds()))) * time.Millisecond
}

// spawn runs fn in the background, and reports false if the engine is closed: Close waits only for
// what was started before it.
func (e *Engine) spawn(fn func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return false
	}
	e.jobs.Go(fn)
	return true
}

// sleep returns true after d, and false at once when wake has an item or the engine closes.
func (e *Engine) sleep(d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-wake:
		return false
	case <-e.stop:
		return false
	}
}

// poke puts an item into a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
