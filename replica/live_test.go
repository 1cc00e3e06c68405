package replica

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

// arrivesWithin is how long a change may take to replicas that are connected. It takes
// milliseconds, unless a session misses a change.
const arrivesWithin = 10 * time.Second

// group is replicas that stay connected, though their connections break now and then.
type group struct {
	t      *testing.T
	peers  []*peer
	ctx    context.Context
	breaks time.Duration // the longest that most connections last; 0: none breaks
}

// connect keeps two replicas connected.
func (g *group) connect(a, b *peer, r *rand.Rand, dial func() (x, y net.Conn)) {
	for g.ctx.Err() == nil {
		ctx, cancel := context.WithCancel(g.ctx)
		if g.breaks > 0 && r.IntN(4) > 0 {
			ctx, cancel = context.WithTimeout(g.ctx, time.Duration(r.Int64N(int64(g.breaks))))
		}
		x, y := dial()
		done := make(chan error, 1)
		go func() { done <- Sync(ctx, a.space, x, nil) }()
		err := Sync(ctx, b.space, y, nil)
		if other := <-done; ctx.Err() == nil {
			g.t.Errorf("a session ended: %v, %v", err, other)
		}
		cancel()
	}
}

// await waits until all replicas have a task.
func (g *group) await(id int64, title string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.ctx, arrivesWithin)
	defer cancel()
	for i, p := range g.peers {
		for _, err := range p.tasks.Watch(ctx, p.db, p.tasks.Query()) {
			if err != nil {
				stacks := make([]byte, 1<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				g.t.Fatalf("replica %d lacks task %d, %s: %v\n%s\n%s", i, id, title, err, g.state(), stacks)
			}
			if v := p.get(id); v != nil && v.Title == title {
				break
			}
		}
	}
}

// state returns how far the replicas are.
func (g *group) state() (s string) {
	for i, p := range g.peers {
		at, whole, err := endpoint{p.space}.Position()
		c := &p.space.chronicle
		c.mu.Lock()
		s += fmt.Sprintf("%d: arrival %d, whole %v, error %v, chronicle from %d to %d, waiting %v\n", i,
			at.Arrival, whole, err, c.from, c.last.Arrival, p.waiting())
		c.mu.Unlock()
	}
	return s
}

// dialTCP returns the ends of a TCP connection.
func dialTCP() (x, y net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer func() { _ = l.Close() }()
	if x, err = net.Dial("tcp", l.Addr().String()); err != nil {
		panic(err)
	}
	if y, err = l.Accept(); err != nil {
		panic(err)
	}
	return x, y
}

// Each change arrives everywhere, whether it is made while connections are idle, busy, or begin.
func TestSync_missesNoChange(t *testing.T) {
	transports := map[string]func() (x, y net.Conn){"pipe": net.Pipe, "tcp": dialTCP}
	for _, n := range []int{2, 3} {
		for _, breaks := range []time.Duration{0, 3 * time.Millisecond, 30 * time.Millisecond} {
			for name, dial := range transports {
				t.Run(fmt.Sprintf("%d/%v/%s", n, breaks, name), func(t *testing.T) {
					missNoChange(t, n, breaks, dial)
				})
			}
		}
	}
}

func missNoChange(t *testing.T, n int, breaks time.Duration, dial func() (x, y net.Conn)) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	ctx, cancel := context.WithCancel(context.Background())
	g := &group{t: t, peers: []*peer{newPeer(t, nil)}, ctx: ctx, breaks: breaks}
	for len(g.peers) < n {
		g.peers = append(g.peers, newPeer(t, g.peers[0]))
	}
	var connected sync.WaitGroup
	defer connected.Wait()
	defer cancel()
	for i := range g.peers {
		for j := range i {
			r := rand.New(rand.NewPCG(seed, uint64(i*n+j)))
			connected.Go(func() { g.connect(g.peers[i], g.peers[j], r, dial) })
		}
	}
	r := rand.New(rand.NewPCG(seed, 1000))
	for i := range 40 {
		title := fmt.Sprint(i)
		writers := r.Perm(n)[:1+r.IntN(n)]
		for _, w := range writers {
			g.peers[w].put(task{ID: int64(w), Title: title})
		}
		for _, w := range writers {
			g.await(int64(w), title)
		}
		for range r.IntN(3) * r.IntN(1000) { // until sessions are idle, or not
			runtime.Gosched()
		}
	}
}
