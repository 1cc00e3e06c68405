package session

import (
	"bufio"
	"bytes"
	"net"
	"sync"
	"testing"
)

// unsynced is a replica whose database makes durable only what is synced.
type unsynced struct {
	*memory
	mu    sync.Mutex
	dirty bool // runs were merged that are not durable
}

func (u *unsynced) Apply(session uint64, runs []*Run) ([]Refusal, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dirty = true
	return u.memory.Apply(session, runs)
}

func (u *unsynced) Sync() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dirty = false
	return nil
}

// listened is a connection of an unsynced replica.
type listened struct {
	net.Conn
	t    *testing.T
	u    *unsynced
	acks *int
}

func (l *listened) Write(p []byte) (int, error) {
	in := bufio.NewReader(bytes.NewReader(p))
	for {
		k, _, err := readFrame(in, func() {})
		if err != nil {
			return l.Conn.Write(p)
		}
		if k == frameAck {
			*l.acks++
			l.u.mu.Lock()
			if l.u.dirty {
				l.t.Error("entries are acknowledged before they are durable")
			}
			l.u.mu.Unlock()
		}
	}
}

func TestAck_followsDurability(t *testing.T) {
	a, b := &unsynced{memory: newMemory(1, 1)}, newMemory(1, 2)
	for range 20 {
		b.write("x")
	}
	c := config(a.memory)
	c.Spaces = []Space{a}
	x, y := net.Pipe()
	acks := 0
	if here, there := run(t, c, config(b), &listened{x, t, a, &acks}, y); here != nil || there != nil {
		t.Fatal(here, there)
	}
	if acks == 0 {
		t.Error("nothing was acknowledged")
	}
}
