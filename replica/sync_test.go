package replica

import (
	"context"
	"net"
	"testing"
)

// together runs a session of two replicas until both have what the other had.
func together(t testing.TB, a, b *peer) (here, there error) {
	t.Helper()
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), b.space, y, once) }()
	here = Sync(context.Background(), a.space, x, once)
	return here, <-done
}

func TestSync_bringsRecordsOver(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Title: "Milk"})
	for range 3 {
		if here, there := together(t, a, b); here != nil || there != nil {
			t.Fatal(here, there)
		}
	}
	if b.get(1) == nil {
		t.Error("nothing arrived")
	}
	b.put(task{ID: 2})
	if here, there := together(t, a, b); here != nil || there != nil {
		t.Fatal(here, there)
	}
	agree(t, a, b)
}

// What had to wait for entries of one peer, and came from another one, is sent to the first.
func TestSync_sendsWhatWaited(t *testing.T) {
	a := newPeer(t, nil)
	b, c := newPeer(t, a), newPeer(t, a)
	meet(t, a, b)
	meet(t, a, c)
	b.put(task{ID: 1})
	meet(t, b, c)
	c.put(task{ID: 2})
	if err := a.space.apply(c.runs(0)); err != nil || len(a.space.Waiting()) != 1 {
		t.Fatal(err, a.space.Waiting())
	}
	for range 2 {
		meet(t, a, b)
	}
	if b.get(2) == nil {
		t.Error("it was not sent")
	}
}
