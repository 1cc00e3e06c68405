package replica

import (
	"errors"
	"sync"
	"weak"

	"github.com/stoatdb/stoat/replica/internal/session"
)

// endsCache is the ends of all logs, in order, as long as a session uses them: they take some 80
// bytes a log. It is safe for concurrent use.
type endsCache struct {
	mu   sync.Mutex // also so that only one session at a time reads all heads
	last weak.Pointer[session.Ends]
}

// Ends implements session.Space. It takes time for each log, unless the replica has not changed
// since another session asked, and still uses the answer.
func (e endpoint) Ends() (ends *session.Ends, err error) {
	c := &e.s.ends
	c.mu.Lock()
	defer c.mu.Unlock()
	err = e.view(func(t *txn) error {
		at, err := t.position()
		if err != nil {
			return err
		}
		if ends = c.last.Value(); ends != nil && ends.Position == at {
			return nil
		}
		ends, err = t.ends(at)
		return err
	})
	if err == nil {
		err = e.s.db.Sync()
	}
	if err != nil {
		return nil, err
	}
	c.last = weak.Make(ends)
	return ends, nil
}

// ends returns the ends of all logs, in order.
func (t *txn) ends(at session.Position) (*session.Ends, error) {
	ends := &session.Ends{Position: at}
	for h, err := range t.eachHead() {
		if err != nil {
			return nil, err
		}
		if h.sealed == 0 {
			continue
		}
		announced, err := t.announced(h)
		if err != nil {
			return nil, err
		}
		time := h.time
		if announced.Next != h.next {
			// What was pruned here is elsewhere in the order than at others, who list it then.
			time, err = t.timeOf(spot{h.number, announced.Next - 1})
			if err != nil && !errors.Is(err, ErrPruned) {
				return nil, err
			}
		}
		ends.All = append(ends.All, session.End{Time: uint64(time), Head: announced})
	}
	session.Sort(ends.All)
	return ends, nil
}

// announced returns the end of a log as sessions announce it.
func (t *txn) announced(h *head) (session.Head, error) {
	next := h.sealed
	if h.cut > 0 {
		next = min(next, h.cut)
	}
	hash, err := t.hashOf(h.number, next-1)
	if err != nil {
		return session.Head{}, err
	}
	return session.Head{Log: [12]byte(h.id[:12]), Next: next, Hash: hash, Cut: h.cut > 0,
		Number: h.number}, nil
}

// Latest implements session.Space.
func (e endpoint) Latest() (latest uint64, err error) {
	err = e.view(func(t *txn) error {
		at, err := t.latest()
		latest = uint64(at)
		return err
	})
	return latest, err
}
