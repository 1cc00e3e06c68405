package layers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
)

// follower is a live loop over the entries of a feed beside a workload, one at a time.
type follower struct {
	mu     sync.Mutex
	seen   map[uint64]bool // by the present loop
	last   int             // the newest entry that was ever told, or -1
	any    bool
	broken bool // by a failing read, which is not its fault
	err    error

	told  chan struct{} // something is new
	ended chan struct{} // closed when the loop has ended
}

// start starts a loop, in a goroutine of loops.
func (l *follower) start(ctx context.Context, loops *sync.WaitGroup, db *stoat.DB, f channel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = map[uint64]bool{}
	l.told, l.ended = make(chan struct{}, 1), make(chan struct{})
	told, ended := l.told, l.ended
	loops.Go(func() {
		defer close(ended)
		next := uint64(0)
		for seq, err := range f.live(ctx, db) {
			if err == nil && seq < next {
				err = fmt.Errorf("entry %d is told when %d could be next", seq, next)
			}
			if err != nil {
				l.end(err)
				return
			}
			next = seq + 1
			l.see(seq)
			select {
			case told <- struct{}{}:
			default:
			}
		}
	})
}

func (l *follower) see(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[seq] = true
	l.last, l.any = max(l.last, int(seq)), true
}

func (l *follower) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case isFault(err):
		l.broken = true
	case !errors.Is(err, context.Canceled):
		l.err = fmt.Errorf("live loop: %w", err)
	}
}

func (l *follower) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// lacks returns an entry that is there and was not told yet.
func (l *follower) lacks(m *journal) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seq := range m.ahead(m.first) {
		if !l.seen[uint64(seq)] && !l.broken {
			return seq, true
		}
	}
	return 0, false
}

// reaches waits until all entries were told.
func (l *follower) reaches(m *journal) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		seq, missing := l.lacks(m)
		if !missing {
			return nil
		}
		select {
		case <-l.told:
		case <-l.ended:
			if seq, missing = l.lacks(m); missing {
				err := fmt.Errorf("the live loop has not told entry %d", seq)
				return errors.Join(err, l.failed())
			}
		case <-deadline.C:
			return fmt.Errorf("the live loop does not tell entry %d", seq)
		}
	}
}

// claim returns that the newest entry that was told is there.
func (l *follower) claim() claim[*journal] {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, any := l.last, l.any
	return func(_ *stoat.DB, states []*journal, found int, durable bool) error {
		m := states[len(states)-1]
		if durable {
			m = states[found]
		}
		if any && last >= m.next() {
			return fmt.Errorf("entry %d was told, and there are %d", last, m.next())
		}
		return nil
	}
}
