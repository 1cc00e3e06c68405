package failover

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// relay passes bytes on between clients and a server, and disturbs that.
type relay struct {
	address, server string

	mu          sync.Mutex
	conns       int           // how many were accepted
	freezing    chan struct{} // is frozen from the next request to store a log object on; or nil
	frozen      chan struct{} // closed when what was read is passed on; nil: at once
	late        time.Duration // before each piece is passed on
	cutRequests int           // how many connections to cut after the first piece of a request
	cutAnswers  int           // how many to cut before an answer, whose request has arrived
}

// newRelay returns a relay to a server, until the end of the test.
func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	t.Cleanup(func() { ok(t, l.Close()) })
	r := &relay{address: l.Addr().String(), server: server}
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			r.set(func() { r.conns++ })
			go r.serve(here)
		}
	}()
	return r
}

// set changes the relay.
func (r *relay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// accepted returns how many connections were accepted.
func (r *relay) accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conns
}

// cuts returns how many connections are still to be cut.
func (r *relay) cuts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cutRequests + r.cutAnswers
}

// awaitFrozen waits until a request to store a log object was frozen.
func (r *relay) awaitFrozen(t *testing.T) {
	t.Helper()
	eventually(t, "a request is frozen", func() (is bool) {
		r.set(func() { is = r.frozen != nil })
		return is
	})
}

// eventually waits until something holds that nothing else tells.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(time.Millisecond), time.After(2*time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("it does not happen that %s", what)
		}
	}
}

// serve relays a connection until one side ends it.
func (r *relay) serve(here net.Conn) {
	defer func() { _ = here.Close() }()
	there, err := net.Dial("tcp", r.server)
	if err != nil {
		return // the server is not there now
	}
	defer func() { _ = there.Close() }()
	var halves sync.WaitGroup
	halves.Go(func() { r.pass(here, there, &r.cutRequests, 100) })
	halves.Go(func() { r.pass(there, here, &r.cutAnswers, 0) })
	halves.Wait()
}

// pass passes on what one side says. If the connection is to be cut, it passes on some bytes first.
func (r *relay) pass(from, to net.Conn, cuts *int, first int) {
	defer func() { // what ends one half ends both
		_ = from.Close()
		_ = to.Close()
	}()
	p := make([]byte, 16<<10)
	for {
		n, err := from.Read(p)
		cut := false
		r.set(func() {
			if n > 0 && *cuts > 0 {
				*cuts--
				cut = true
			}
		})
		r.hold(p[:n])
		if cut {
			n = min(n, first)
		}
		if _, failed := to.Write(p[:n]); failed != nil || err != nil || cut {
			return
		}
	}
}

// hold waits as long as a piece is to be late.
func (r *relay) hold(piece []byte) {
	stores := bytes.HasPrefix(piece, []byte("PUT ")) && bytes.Contains(piece, []byte("/log/"))
	r.mu.Lock()
	if stores && r.freezing != nil {
		r.frozen, r.freezing = r.freezing, nil
	}
	frozen, late := r.frozen, r.late
	r.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	if late > 0 {
		<-time.After(late)
	}
}
