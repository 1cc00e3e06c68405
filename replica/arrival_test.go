package replica

import (
	"net"
	"testing"
	"time"
)

// What waited for its time is merged during a session with a peer that does not have it. That peer
// must get it, although it arrived with the peer's own entries.
func TestSync_passesOnWhatHadWaited(t *testing.T) {
	a := newPeer(t, nil)
	b, ahead := newPeer(t, a), newPeer(t, a)
	ahead.now = noon.Add(time.Hour)
	ahead.put(task{ID: 1})
	visit(t, a, ahead)
	if len(a.waiting()) == 0 {
		t.Fatal("an entry that is ahead does not wait")
	}
	a.now, b.now = noon.Add(2*time.Hour), noon.Add(2*time.Hour)
	b.put(task{ID: 2})
	visit(t, a, b)
	visit(t, a, b)
	if b.get(1) == nil {
		t.Error("the entry that had waited did not arrive")
	}
	agree(t, a, b)
}

// visit runs a session that one replica ends when both have what the other had.
func visit(t *testing.T, a, b *peer) {
	t.Helper()
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(t.Context(), b.space, y, nil) }()
	here := Sync(t.Context(), a.space, x, &SyncOptions{Once: true})
	if there := <-done; here != nil || there != nil {
		t.Fatal(here, there)
	}
}
