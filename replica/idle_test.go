package replica

import (
	"context"
	"runtime"
	"testing"
)

// idleMax is the most that a session may take while nothing happens, on one side: the goroutines'
// stacks, and what is in use of the heap. Two thirds of it are those of TLS.
const idleMax = 32 << 10

// sizeWhileIdle returns what a session over TLS takes while nothing happens, on one side, if so
// many are connected.
func sizeWhileIdle(t testing.TB, n int) int {
	t.Helper()
	server := newPeer(t, nil)
	client := newPeer(t, server)
	server.put(task{ID: 1})
	meet(t, server, client)
	v := server.serve()
	ctx, cancel := context.WithCancel(context.Background())
	done, settled := make(chan error, n), make(chan struct{}, n)
	before := memoryInUse()
	for range n {
		conn, err := Dial(ctx, v.addr, client.space.device, server.space.device.ID())
		must(t, err)
		quiet := false
		opts := &SyncOptions{OnStatus: func(s SyncStatus) {
			if !quiet && s.CaughtUp && s.Acknowledged {
				quiet = true
				settled <- struct{}{}
			}
		}}
		go func() { done <- Sync(ctx, client.space, conn, opts) }()
	}
	for range n {
		select {
		case <-settled:
		case err := <-done:
			t.Fatal(err)
		}
	}
	after := memoryInUse()
	cancel()
	for range n {
		<-done
		_ = v.next()
	}
	return (after - before) / n / 2
}

// memoryInUse returns the size of all stacks, and of what is reachable in the heap.
func memoryInUse() int {
	for range 4 { // a stack that was used shrinks by half each time
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

func TestServe_idleClientsTakeLittleMemory(t *testing.T) {
	size := sizeWhileIdle(t, 200)
	t.Logf("%d B a side", size)
	if size > idleMax {
		t.Errorf("%d B a side, of at most %d", size, idleMax)
	}
}
