package replica

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// valve is a connection whose reads wait while the valve is closed.
type valve struct {
	net.Conn
	mu sync.RWMutex
}

func (v *valve) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	v.mu.RLock() // what came while it was closed comes when it is open
	defer v.mu.RUnlock()
	return n, err
}

// A peer that is slow lacks, each time, what the source of a live session has pruned meanwhile. It
// is offered each new checkpoint, and the session goes on.
func TestStart_eachTimeTheSourceOfASessionPrunes(t *testing.T) {
	a := bulky(t)
	c := newPeer(t, a)
	x, y := net.Pipe()
	slow := &valve{Conn: y}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- Sync(ctx, a.space, x, nil) }()
	go func() { done <- Sync(ctx, c.space, slow, nil) }()
	defer func() {
		cancel()
		if err := errors.Join(<-done, <-done); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	g := &group{t: t, peers: []*peer{a, c}, ctx: ctx}
	a.put(task{ID: 90, Title: "first"})
	g.await(90, "first")
	random := rand.NewChaCha8([32]byte{6})
	for round := range 4 {
		slow.mu.Lock()
		for i := range int64(8) { // more than is on its way to the peer at a time
			text := make([]byte, 100<<10)
			_, _ = random.Read(text)
			a.put(task{ID: 100 + i, Note: base64.StdEncoding.EncodeToString(text)})
			must(t, a.space.Seal())
		}
		renew(a)
		slow.mu.Unlock()
		title := fmt.Sprint("after round ", round)
		a.put(task{ID: 90, Title: title})
		g.await(90, title)
	}
	agree(t, a, c)
	must(t, c.verify())
}
