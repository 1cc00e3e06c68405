package engine

import (
	"runtime"
	"sync"
)

// helpers runs goroutines that load blocks ahead of scans. Tables refer to it, so it must not refer
// to the engine: the collector would never find out that a table is unreachable.
type helpers struct {
	mu      sync.Mutex // held to start a helper
	closed  bool
	running sync.WaitGroup
}

// start is the [table.Help] of the cache. A scan may take half of the processors, itself included.
func (h *helpers) start(number int, fn func()) bool {
	if number > runtime.GOMAXPROCS(0)/2 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.running.Go(fn)
	return true
}

// close waits for all helpers and starts no more.
func (h *helpers) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
}
