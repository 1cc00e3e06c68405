package layers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
)

// liveLoop follows the entries of a feed in a goroutine of its own, one loop at a time.
type liveLoop struct {
	mu     sync.Mutex
	seen   map[uint64]bool // by the current loop
	last   int             // the newest entry of all loops
	any    bool
	broken bool // by an injected fault
	err    error

	told  chan struct{} // there is something new
	ended chan struct{} // closed when the loop ends
}

// start starts a loop in a goroutine of loops.
func (l *liveLoop) start(ctx context.Context, loops *sync.WaitGroup, db *stoat.DB, f anyFeed) {
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

func (l *liveLoop) see(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[seq] = true
	l.last, l.any = max(l.last, int(seq)), true
}

func (l *liveLoop) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case isFault(err):
		l.broken = true
	case !errors.Is(err, context.Canceled):
		l.err = fmt.Errorf("live loop: %w", err)
	}
}

func (l *liveLoop) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// lacks returns an entry of the model that the loop has not returned yet.
func (l *liveLoop) lacks(m *feedModel) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seq := range m.ahead(m.first) {
		if !l.seen[uint64(seq)] && !l.broken {
			return seq, true
		}
	}
	return 0, false
}

// reaches waits until the loop has returned all entries.
func (l *liveLoop) reaches(m *feedModel) error {
	deadline := time.NewTimer(loopTimeout)
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

// claim requires the newest entry that a loop returned to exist.
func (l *liveLoop) claim() claim[*feedModel] {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, any := l.last, l.any
	return func(_ *stoat.DB, states []*feedModel, found int, durable bool) error {
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
