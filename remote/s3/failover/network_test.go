package failover

import (
	"flag"
	"path/filepath"
	"testing"
	"time"
)

// outage is a chain whose first writer reaches the server through a relay.
type outage struct {
	*chain
	relay *relay
}

// newOutage starts a writer behind a relay.
func newOutage(t *testing.T, address string) *outage {
	t.Helper()
	o := &outage{relay: newRelay(t, address)}
	o.chain = &chain{plan: plan{Address: address, Prefix: "db/", Writers: 4}, dirs: t.TempDir()}
	p := o.plan
	p.Address, p.Dir = o.relay.address, filepath.Join(o.dirs, "0")
	o.writer = start(t, p)
	o.writer.awaitTotal(t, "acked", 20)
	return o
}

// over wants the writer to go on, and a standby, which takes over from it, to find all of it.
func (o *outage) over(t *testing.T) {
	t.Helper()
	o.writer.await(t, "acked", 20)
	first := o.writer
	first.end(t)
	o.takeOver(t, o.prepare(t, byProcess))
	if err := first.lost(o.writer); err != nil {
		t.Error(err)
	}
	o.writer.end(t)
}

func TestNetwork_slow(t *testing.T) {
	o := newOutage(t, newServer(t))
	o.relay.set(func() { o.relay.late = 10 * time.Millisecond })
	o.over(t)
}

// Connections are cut in the middle of requests, which the server has not then, and before their
// answers, whose requests it has.
func TestNetwork_cutsRequestsAndAnswers(t *testing.T) {
	o := newOutage(t, newServer(t))
	for range 5 {
		for _, cuts := range []*int{&o.relay.cutRequests, &o.relay.cutAnswers} {
			o.relay.set(func() { *cuts = 2 })
			for o.relay.cuts() > 0 {
				o.writer.await(t, "acked", 1)
			}
		}
	}
	o.over(t)
	t.Logf("trust: %d connections of writers cut", 5*4)
}

var minutes = flag.Bool("failover.minutes", false, "also run the test that takes a minute")

// The network takes bytes and does not pass them on, until the test ends: connections that are made
// later work, so requests have to be given up and made again, after half a minute.
func TestNetwork_freezesForGood(t *testing.T) {
	if !*minutes {
		t.Skip("needs -failover.minutes")
	}
	o := newOutage(t, newServer(t))
	freeze := make(chan struct{})
	t.Cleanup(func() { close(freeze) })
	o.relay.set(func() { o.relay.freezing = freeze })
	o.relay.awaitFrozen(t)
	o.relay.set(func() { o.relay.frozen = nil })
	o.over(t)
	t.Log("trust: 1 connections of writers frozen for good")
}

// The network takes bytes and does not pass them on, for a while.
func TestNetwork_freezes(t *testing.T) {
	o := newOutage(t, newServer(t))
	for range 3 {
		freeze := make(chan struct{})
		o.relay.set(func() { o.relay.freezing = freeze })
		o.relay.awaitFrozen(t)
		o.relay.set(func() { o.relay.frozen = nil })
		close(freeze)
		o.writer.await(t, "acked", 1)
	}
	o.over(t)
}

// The server is killed, and comes back. Meanwhile the writer asks again, at longer and longer
// intervals.
func TestNetwork_comesBackAfterTheServer(t *testing.T) {
	const tries = 8
	if !*servers {
		t.Skip("needs -servers")
	}
	g := newGateway(t)
	o := newOutage(t, g.address)
	g.process.Kill()
	began, before := time.Now(), o.relay.accepted()
	eventually(t, "the writer asks again", func() bool { return o.relay.accepted() >= before+tries })
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("%d connections in %v: the writer does not back off", tries, took)
	}
	g.start(t)
	o.over(t)
}
