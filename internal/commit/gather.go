package commit

import "runtime"

// quietYields is how many times in a row the leader yields without seeing another commit before it
// stops gathering. On an idle processor that takes a few microseconds.
const quietYields = 64

// gatherLocked lets the callers that the last sync covered append their next commits, so that one
// sync covers all callers. Without it, the callers fall into two groups that take turns: each
// commit waits for half of a sync in progress, then for its own.
//
// It yields the processor until as many commits are appended as there were callers, unless they
// stay away or the wait takes longer than a sync. A lone caller does not wait.
func (p *Pipeline) gatherLocked() {
	if p.callers <= 1 {
		return
	}
	all, longest := p.synced+p.callers, p.syncTime
	p.mu.Unlock()
	defer p.mu.Lock()
	start := p.config.Clock()
	seen := p.newest.Load()
	for quiet := 0; seen < all && quiet < quietYields; quiet++ {
		runtime.Gosched()
		if newest := p.newest.Load(); newest > seen {
			seen, quiet = newest, 0
		}
		if p.config.Clock()-start >= longest {
			return
		}
	}
}
