package replica

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// Two replicas answer each other for a long time; a third one gets all of it at once.
func TestSync_ofLongLogs(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1})
	rounds := 300
	if testing.Short() {
		rounds = 150
	}
	for i := range rounds {
		meet(t, a, b)
		p := []*peer{a, b}[i%2]
		p.now = noon.Add(time.Duration(i) * time.Second)
		for range 1 + i%3 {
			p.edit(func(v *task) { v.Votes, v.Title = v.Votes+1, v.Title+"x" })
		}
	}
	for _, p := range []*peer{a, b} {
		p.now = noon.Add(time.Hour)
	}
	meet(t, a, b)
	agree(t, a, b)
	late := newPeer(t, a)
	late.now = a.now
	meet(t, b, late)
	agree(t, a, late)
	if got := late.get(1); int(got.Votes) != 2*rounds || len(got.Title) != 2*rounds {
		t.Errorf("%d votes, %d letters", got.Votes, len(got.Title))
	}
	if len(conflicts(late)) > 0 {
		t.Error("what was seen conflicts")
	}
	compareWithModel(t, late)
}

// compareWithModel is history.compare for a replica alone.
func compareWithModel(t *testing.T, p *peer) {
	t.Helper()
	(&history{t: t}).compare(p)
}

// cut is a connection that breaks after some bytes were written.
type cut struct {
	net.Conn
	left int
}

var errCut = errors.New("the connection is cut")

func (c *cut) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		_ = c.Close()
		return 0, errCut
	}
	return c.Conn.Write(p)
}

// A connection may break at any frame and any byte of it: what was merged stays, nothing is half,
// and the next exchange continues.
func TestSync_cutAnywhere(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	for i := range int64(20) {
		a.put(task{ID: i % 5, Title: "a", Votes: int32(i)})
		b.put(task{ID: i % 7, Note: "b", Best: i})
	}
	step := 449 // so that all replicas that join are roots
	if testing.Short() {
		step = 1999
	}
	for n := 0; n < 12_000; n += step {
		c := newPeer(t, a)
		x, y := net.Pipe()
		done := make(chan error, 1)
		go func() { done <- Sync(context.Background(), a.space, &cut{x, n}, once) }()
		err := Sync(context.Background(), c.space, y, once)
		if other := <-done; n == 0 && (err == nil || other == nil) {
			t.Error("nothing was sent, and nobody noticed")
		}
		compareWithModel(t, c)
		c.put(task{ID: 100})
		meet(t, c, a)
		agree(t, a, c)
		_ = c.db.Close()
	}
	meet(t, a, b)
	agree(t, a, b)
}

// Replicas are written to, and meet several others, at the same time.
func TestSync_whileOthersWrite(t *testing.T) {
	a := newPeer(t, nil)
	peers := []*peer{a, newPeer(t, a), newPeer(t, a)}
	var group sync.WaitGroup
	for i, p := range peers {
		group.Go(func() {
			for n := range int64(60) {
				err := p.db.Update(func(tx *stoat.Tx) error {
					v, err := p.tasks.Get(tx, n%4)
					if err != nil {
						v = &task{ID: n % 4}
					}
					v.Votes++
					v.Title = string(rune('a' + i))
					return p.tasks.Put(tx, v)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 8 {
				meet(t, p, peers[(i+1)%3])
			}
		})
	}
	group.Wait()
	for range 2 {
		meet(t, a, peers[1])
		meet(t, a, peers[2])
	}
	agree(t, peers...)
	compareWithModel(t, a)
	votes := 0
	for _, v := range all(a) {
		votes += int(v.Votes)
	}
	if votes != 180 {
		t.Errorf("%d of 180 votes", votes)
	}
}
