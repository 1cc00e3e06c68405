package ship

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// gatherShare of the time of a request, as a divisor, is how long a group waits to be complete.
	gatherShare = 8
	// gatherMost bounds it.
	gatherMost = 10 * time.Millisecond
)

// group is what is known of the callers whose commits share a log object.
type group struct {
	taken   atomic.Uint64 // the newest commit that was sent
	callers atomic.Uint64 // the commits of the last answer
	took    atomic.Int64  // how long that answer took, in nanoseconds
}

// gather waits until as many commits are new as the last answer had. Their callers begin again once
// they have it; without the wait, the first of them would be sent alone, and the others would wait
// for two requests. A lone caller does not wait.
func (s *Shipper) gather(ctx context.Context, newest uint64) {
	callers := s.group.callers.Load()
	if callers <= 1 {
		return
	}
	longest := min(time.Duration(s.group.took.Load())/gatherShare, gatherMost)
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for newest < s.group.taken.Load()+callers {
		var err error
		if newest, err = s.follower.Wait(ctx, newest); err != nil {
			return
		}
	}
}
