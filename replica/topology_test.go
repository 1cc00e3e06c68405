package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
)

// follow keeps a replica together with a server, until the function that it returns is called.
func (p *peer) follow(v *service, server DeviceID) (end func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	conn, err := Dial(ctx, v.addr, p.space.device, server)
	must(p.t, err)
	done := make(chan error, 1)
	go func() { done <- Sync(ctx, p.space, conn, nil) }()
	return func() {
		p.t.Helper()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			p.t.Errorf("a session that was cancelled: %v", err)
		}
	}
}

// In a chain, each replica is the client of the one before and the server of the next.
func TestTopology_chain(t *testing.T) {
	peers := []*peer{newPeer(t, nil)}
	for i := range 4 {
		before := peers[i]
		p := newPeer(t, peers[0])
		defer p.follow(before.serve(), before.space.device.ID())()
		peers = append(peers, p)
	}
	last := peers[len(peers)-1]
	peers[0].put(task{ID: 1, Title: "from the first"})
	awaitTask(t, last, 1, "from the first")
	last.put(task{ID: 2, Title: "from the last"})
	awaitTask(t, peers[0], 2, "from the last")
	agree(t, peers[0], last)
}

// In a mesh, everything arrives several times, and counts once.
func TestTopology_mesh(t *testing.T) {
	first := newPeer(t, nil)
	peers := []*peer{first, newPeer(t, first), newPeer(t, first), newPeer(t, first)}
	for i, p := range peers {
		v := p.serve()
		for j, q := range peers {
			if i != j {
				defer q.follow(v, p.space.device.ID())()
			}
		}
	}
	first.put(task{ID: 9, Title: "begin"}) // brings what the others need to know to write
	for i, p := range peers {
		awaitTask(t, p, 9, "begin")
		p.put(task{ID: int64(i), Title: "from one", Votes: 1})
	}
	for i := range peers {
		for _, p := range peers {
			awaitTask(t, p, int64(i), "from one")
		}
	}
	agree(t, peers...)
}

func TestTopology_serverWithManyClients(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 20
	}
	before := runtime.NumGoroutine()
	server := newPeer(t, nil)
	v := server.serve()
	server.allow() // there are more devices than roots
	server.put(task{ID: 1000, Title: "begin"})
	clients := make([]*peer, n)
	ends := make([]func(), n)
	for i := range clients {
		clients[i] = newPeer(t, server)
		ends[i] = clients[i].follow(v, server.space.device.ID())
	}
	var group sync.WaitGroup
	for i, p := range clients {
		group.Go(func() {
			awaitTask(t, p, 1000, "begin")
			p.put(task{ID: int64(i), Title: "done"})
			for other := range clients {
				awaitTask(t, p, int64(other), "done")
			}
		})
	}
	group.Wait()
	agree(t, append(clients, server)...)
	for _, end := range ends {
		end()
	}
	v.stop()
	if err := <-v.done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	v.done <- context.Canceled // for the cleanup
	for _, p := range append(clients, server) {
		must(t, p.db.Close())
	}
	awaitGoroutines(t, before)
}

// cutter passes connections on to an address, and cuts each after some bytes in either direction.
type cutter struct {
	net.Listener
	to string

	mu   sync.Mutex
	left int // bytes of the next connection
}

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &cutter{Listener: l, to: to}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() { c.pass(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		group.Wait()
	})
	return c
}

// pass passes a connection on until it is cut, or ends.
func (c *cutter) pass(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	other, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }()
	c.mu.Lock()
	left := int64(c.left)
	c.mu.Unlock()
	var group sync.WaitGroup
	for _, way := range [][2]net.Conn{{conn, other}, {other, conn}} {
		group.Go(func() {
			_, _ = io.CopyN(way[0], way[1], left) // either end may be gone
			_ = conn.Close()
			_ = other.Close()
		})
	}
	group.Wait()
}

// A connection may be cut anywhere, also within TLS: nothing is lost, and later ones go on.
func TestTopology_connectionsThatAreCut(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 16))
	server := newPeer(t, nil)
	a := newPeer(t, server)
	v := server.serve()
	c := newCutter(t, v.addr)
	through := &service{addr: c.Addr().String()}
	must(t, a.visit(v, server.space.device.ID()))
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	failed := 0
	for i := range rounds {
		a.put(task{ID: int64(i % 7), Title: fmt.Sprint("a", i), Votes: 1})
		server.put(task{ID: int64(i % 5), Note: fmt.Sprint("server", i)})
		c.mu.Lock()
		c.left = r.IntN(5_000)
		c.mu.Unlock()
		if a.visit(through, server.space.device.ID()) != nil {
			failed++
		}
	}
	if failed == 0 || failed == rounds {
		t.Errorf("%d of %d connections failed", failed, rounds)
	}
	must(t, a.visit(v, server.space.device.ID()))
	agree(t, server, a)
	compareWithModel(t, a)
}

// A database may be closed at any time while it syncs: the sessions end, and nothing is left.
func TestTopology_databasesThatAreClosed(t *testing.T) {
	for range 5 {
		before := runtime.NumGoroutine()
		server := newPeer(t, nil)
		a := newPeer(t, server)
		v := server.serve()
		conn, err := Dial(t.Context(), v.addr, a.space.device, server.space.device.ID())
		must(t, err)
		done := make(chan error, 1)
		go func() { done <- Sync(t.Context(), a.space, conn, nil) }()
		server.put(task{ID: 1, Title: "begin"})
		awaitTask(t, a, 1, "begin")
		written := make(chan struct{})
		go func() {
			defer close(written)
			for a.db.Update(func(tx *stoat.Tx) error {
				return a.tasks.Put(tx, &task{ID: 2})
			}) == nil {
				runtime.Gosched()
			}
		}()
		must(t, server.db.Close())
		if err := <-done; err == nil {
			t.Error("the session with a closed database ended without an error")
		}
		must(t, a.db.Close())
		<-written
		v.stop()
		<-v.done
		v.done <- context.Canceled // for the cleanup
		awaitGoroutines(t, before)
	}
}
