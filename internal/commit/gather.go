package commit

import (
	"runtime"
	"time"
)

const (
	// quietYields is how many times in a row the leader yields without seeing another commit before
	// it stops gathering. On an idle processor that takes a few microseconds.
	quietYields = 64
	// busyYield is how long a yield takes only beside goroutines that compute: each of them runs for
	// up to 10 ms before the runtime interrupts it.
	busyYield = 5 * time.Millisecond
	// skipMost is for how many turns nobody gathers, at most, after yields that took that long.
	skipMost = 1023
)

// gathering is what the next leader needs to know to gather.
type gathering struct {
	callers  uint64        // commits of the last sync and of the time that it took
	syncTime time.Duration // that the last sync took
	skip     int           // turns that are still not to gather
	skips    int           // turns not to gather after the last attempt
}

// gatherLocked lets the callers that the last sync covered append their next commits, so that one
// sync covers all callers. Without it, the callers fall into two groups that take turns: each
// commit waits for half of a sync in progress, then for its own.
//
// It yields the processor until as many commits are appended as there were callers, unless they
// stay away or the wait takes longer than a sync. A lone caller does not wait. Where goroutines
// that compute take the processors at each yield, fewer and fewer turns gather.
func (p *Pipeline) gatherLocked() {
	g := &p.gathering
	switch {
	case g.callers <= 1:
		return
	case g.skip > 0:
		g.skip--
		return
	}
	all, longest := p.synced+g.callers, g.syncTime
	p.mu.Unlock()
	busy := p.yield(all, longest)
	p.mu.Lock()
	if busy {
		g.skips = min(8*g.skips+7, skipMost)
	} else {
		g.skips /= 2
	}
	g.skip = g.skips
}

// yield yields the processor until the given commit is appended, or until it takes too long. It
// reports whether a yield has shown that goroutines that compute take the processors.
func (p *Pipeline) yield(all uint64, longest time.Duration) (busy bool) {
	start := p.config.Clock()
	before, seen := start, p.newest.Load()
	for quiet := 0; seen < all && quiet < quietYields; quiet++ {
		runtime.Gosched()
		if newest := p.newest.Load(); newest > seen {
			seen, quiet = newest, 0
		}
		now := p.config.Clock()
		if now-before >= busyYield {
			return true
		}
		if now-start >= longest {
			return false
		}
		before = now
	}
	return false
}
