package replica

import (
	"errors"
	"testing"
	"time"
)

// What a device writes whose clock is ahead waits at others, also when the clock is set: its syncs
// and its status say so, until that time has come.
func TestStatus_saysThatTheClockIsAhead(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	meet(t, a, b)
	sync := func(want error, ahead time.Duration) {
		t.Helper()
		_, _, here, there := sessionOf(t, a.space, b.space)
		if !errors.Is(here, want) || there != nil {
			t.Errorf("got %v and %v", here, there)
		}
		if got := a.status().Ahead; got.Round(time.Second) != ahead {
			t.Errorf("it is %s ahead", got)
		}
		if got := b.status().Ahead; got != 0 {
			t.Errorf("the peer is %s ahead", got)
		}
	}
	sync(nil, 0)
	a.now = noon.Add(10 * time.Minute)
	a.put(task{ID: 1})
	sync(ErrAhead, 10*time.Minute)
	if b.get(1) != nil || len(b.waiting()) != 1 {
		t.Error("the entry does not wait")
	}
	a.now = noon
	sync(ErrAhead, 10*time.Minute)
	a.now, b.now = noon.Add(6*time.Minute), noon.Add(6*time.Minute)
	sync(nil, 0)
	if b.get(1) == nil {
		t.Error("the entry waits")
	}
}
