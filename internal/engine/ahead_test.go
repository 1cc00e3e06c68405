package engine

import (
	"runtime"
	"sync/atomic"
	"testing"
)

func TestHelpers_closeWaitsForThoseThatRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var h helpers
	running, goOn, ended := make(chan struct{}), make(chan struct{}), atomic.Bool{}
	if !h.start(func() {
		close(running)
		<-goOn
		ended.Store(true)
	}) {
		t.Fatal("no helper with half of the processors")
	}
	<-running
	closed := make(chan bool)
	go func() {
		h.close()
		closed <- ended.Load()
	}()
	close(goOn)
	if !<-closed {
		t.Error("close did not wait")
	}
	if h.start(func() { t.Error("it runs") }) {
		t.Error("a helper starts after close")
	}
}

func TestHelpers_leaveHalfOfTheProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs, most := range map[int]int{1: 0, 2: 1, 3: 1, 8: 4} {
		runtime.GOMAXPROCS(procs)
		var h helpers
		for range 2 {
			n, end := 0, make(chan struct{})
			for h.start(func() { <-end }) {
				n++
			}
			if n != most {
				t.Errorf("%d helpers on %d processors, want %d", n, procs, most)
			}
			close(end)
			h.running.Wait()
		}
		h.close()
	}
}
