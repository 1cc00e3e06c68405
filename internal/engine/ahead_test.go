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
	if !h.start(2, func() {
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
	if h.start(1, func() { t.Error("it runs") }) {
		t.Error("a helper starts after close")
	}
}

func TestHelpers_leaveHalfOfTheProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs, most := range map[int]int{1: 0, 2: 1, 3: 1, 8: 4} {
		runtime.GOMAXPROCS(procs)
		var h helpers
		n := 0
		for h.start(n+1, func() {}) {
			n++
		}
		h.close()
		if n != most {
			t.Errorf("%d helpers on %d processors, want %d", n, procs, most)
		}
	}
}
