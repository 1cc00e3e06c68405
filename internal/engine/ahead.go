package engine

import (
	"runtime"
	"sync"
)

// helpers runs goroutines that load blocks ahead of scans. Tables refer to it, so it must not refer
// to the engine: the collector would never find out that a table is unreachable.
type helpers struct {
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	count  int // that run
}

// start is the [table.Help] of the cache. All scans together may have helpers on half of the
// processors: more would take time from other work, and memory for what they load.
func (h *helpers) start(fn func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.count >= runtime.GOMAXPROCS(0)/2 {
		return false
	}
	h.count++
	h.running.Go(func() {
		fn()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.count--
	})
	return true
}

// close waits for all helpers and starts no more.
func (h *helpers) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
}
