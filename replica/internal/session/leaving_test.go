package session

import (
	"errors"
	"net"
	"sync"
	"testing"
)

// A peer that asks again and again, slowly, and takes nothing, cannot make this side remember all
// of it.
func TestAttack15_wantsWithoutCredit(t *testing.T) {
	victim := newMemory(1, 1)
	if err := victim.Seal(); err != nil {
		t.Fatal(err)
	}
	s := New(config(victim))
	s.space, s.source.reach, s.source.started = victim, &reach{}, true
	s.peer = &auth{}
	w := wants{wants: make([]want, wantsMax)}
	for i := range w.wants {
		w.wants[i] = want{log: [prefixSize]byte(victim.logs[0].id[:]), to: 1}
	}
	var err error
	for asked := 0; err == nil; asked += wantsMax {
		if asked > 4*cursorsMax {
			t.Fatalf("it remembers %d logs", len(s.source.cursors))
		}
		if err = s.receiveWants(w.append(nil)); err == nil {
			_, err = s.take(nil) // as the writer does before each frame
		}
	}
	if !errors.Is(err, ErrPeer) {
		t.Errorf("got %v", err)
	}
}

// lazy is a replica whose database does not sync by itself.
type lazy struct {
	*memory
	mu    sync.Mutex
	dirty bool // a run was read that may not be durable
}

func (l *lazy) Run(log uint32, first uint64, to *Reader) (*Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dirty = true
	return l.memory.Run(log, first, to)
}

func (l *lazy) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dirty = false
	return nil
}

// checked is a connection of a lazy replica.
type checked struct {
	net.Conn
	t *testing.T
	l *lazy
}

func (c *checked) Write(p []byte) (int, error) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.l.dirty {
		c.t.Error("entries leave before they are durable")
	}
	return c.Conn.Write(p)
}

// What other sessions, or the program, have committed meanwhile may not be durable yet.
func TestSession_sendsOnlyWhatIsDurable(t *testing.T) {
	a, b := &lazy{memory: newMemory(1, 1)}, newMemory(1, 2)
	for range 20 {
		a.write("x")
	}
	c := config(a.memory)
	c.Spaces = []Space{a}
	x, y := net.Pipe()
	if here, there := run(t, c, config(b), &checked{x, t, a}, y); here != nil || there != nil {
		t.Fatal(here, there)
	}
}
