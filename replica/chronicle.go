package replica

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// newsMax is the most logs that a chronicle remembers.
const newsMax = 1 << 12

// expectedMax is the most batches that a chronicle expects.
const expectedMax = 1 << 6

// chronicle is the last batches, in memory, so that sessions that keep up need not ask their peers
// what these lack. A transaction says what it is about to commit, which becomes part of the
// chronicle when it is durable. It is safe for concurrent use.
type chronicle struct {
	awaited atomic.Bool // a session that seals what is written has nothing else to do

	mu       sync.Mutex
	from     uint64 // the arrival after which all batches are here
	batches  []growth
	size     int // logs in all batches
	last     session.Position
	expected []growth      // by transactions that may have failed, behind last
	changed  chan struct{} // closed at the next change; nil if nobody waits
}

// expect notes what a transaction is about to commit.
func (c *chronicle) expect(g *growth) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaited.Store(false)
	if len(c.expected) == expectedMax {
		c.expected = slices.Delete(c.expected, 0, 1)
	}
	c.expected = append(c.expected, *g)
}

// add adds what a transaction has committed durably, which may be nil.
func (c *chronicle) add(g *growth) {
	if g != nil {
		c.reach(g.position)
	}
}

// reach notes that the database has got to a position, durably.
func (c *chronicle) reach(p session.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Batch == 0 || p.Arrival <= c.last.Arrival {
		return
	}
	if way, ok := c.wayLocked(p); ok {
		c.appendLocked(way)
	} else {
		c.batches, c.size, c.from = nil, 0, p.Arrival
	}
	c.last = p
	c.expected = slices.DeleteFunc(c.expected, func(g growth) bool {
		return g.position.Arrival <= p.Arrival
	})
	c.wakeLocked()
}

// wayLocked returns the expected batches that lead to a position, if all of them are known. What a
// transaction has expected that failed leads nowhere.
func (c *chronicle) wayLocked(to session.Position) (way []growth, ok bool) {
	for to != c.last {
		i := slices.IndexFunc(c.expected, func(g growth) bool { return g.position == to })
		if i < 0 || len(c.expected[i].logs) > newsMax {
			return nil, false
		}
		way = append(way, c.expected[i])
		to = c.expected[i].before
	}
	slices.Reverse(way)
	return way, true
}

// appendLocked appends batches, and forgets the first if there are too many.
func (c *chronicle) appendLocked(batches []growth) {
	for i := range batches {
		c.size += len(batches[i].logs)
	}
	c.batches = append(c.batches, batches...)
	n := 0
	for ; c.size > newsMax; n++ {
		c.size -= len(c.batches[n].logs)
		c.from = c.batches[n].position.Arrival
	}
	c.batches = slices.Delete(c.batches, 0, n)
}

// since returns what arrived after an arrival.
func (c *chronicle) since(after uint64) (news []session.News, p session.Position, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if after == c.last.Arrival {
		return nil, c.last, true
	}
	if after < c.from || after > c.last.Arrival {
		return nil, p, false
	}
	for i := range c.batches {
		b := &c.batches[i]
		if b.before.Arrival < after {
			continue
		}
		if len(news) == 0 && b.before.Arrival != after {
			return nil, p, false
		}
		news, p = append(news, b.logs...), b.position
	}
	return news, p, len(news) > 0
}

// position returns the last position.
func (c *chronicle) position() session.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// await notes that a session waits for what is written next, and may seal that, unless something
// has come since a position.
func (c *chronicle) await(since session.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == since && len(c.expected) == 0 {
		c.awaited.Store(true)
	}
}

// wait returns a channel that is closed at the next change.
func (c *chronicle) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// wake tells those who wait that something has changed.
func (c *chronicle) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wakeLocked()
}

func (c *chronicle) wakeLocked() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// catchUp makes the chronicle reach what is committed, and makes that durable.
func (s *Space) catchUp() error {
	var p session.Position
	err := s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err == nil {
			p, err = t.position()
		}
		return err
	})
	if err == nil {
		err = s.db.Sync()
	}
	if err == nil {
		s.chronicle.reach(p)
	}
	return err
}
