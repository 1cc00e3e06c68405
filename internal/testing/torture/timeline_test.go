package torture

import (
	"fmt"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
)

// timeline is the oracle: the states of a database after each commit, starting empty, and a clock.
// Expired entries count as absent. Safe for concurrent use.
type timeline struct {
	*crash.Timeline[*model.Bucket]
	clock   *model.Clock // by which entries expire
	reads   atomic.Int64 // how often readOnce has read the database
	readers atomic.Int32 // goroutines that still call it
}

func newTimeline() *timeline {
	clock := model.NewClock()
	return &timeline{Timeline: crash.NewTimeline(model.New(clock).Root()), clock: clock}
}

// match returns which of the promised states got equals by the clock, preferring the newest.
func (l *timeline) match(got *model.Bucket, p crash.Promise, clock *model.Clock) (int, error) {
	states := l.Until(p.Newest)
	for i := p.Newest; i >= p.Oldest; i-- {
		if got.Equal(states[i].By(clock)) {
			return i, nil
		}
	}
	for i := p.Oldest - 1; i >= 0; i-- {
		if got.Equal(states[i].By(clock)) {
			return 0, fmt.Errorf("the state is that of commit %d, want one of %d to %d: "+
				"lost commits", i, p.Oldest, p.Newest)
		}
	}
	return 0, fmt.Errorf("the state is that of no commit; compared with commit %d: %s; with %d: %s",
		p.Oldest, model.Diff(got, states[p.Oldest].By(clock)),
		p.Newest, model.Diff(got, states[p.Newest].By(clock)))
}
