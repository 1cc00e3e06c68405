package stress

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

var (
	seed    = flag.Uint64("stress.seed", 0, "where random choices start; 0: anywhere")
	rounds  = flag.Int("stress.rounds", 5, "how often everything begins anew")
	lasting = flag.Duration("stress.for", 500*time.Millisecond, "how long replicas work each time")
)

func TestReplicas_ofWhichEverythingIsAskedAtOnce(t *testing.T) {
	from := *seed
	if from == 0 {
		from = rand.Uint64()
	}
	for i := range uint64(*rounds) {
		if !t.Run(fmt.Sprint(from+i), func(t *testing.T) { stress(t, from+i) }) {
			break
		}
	}
	t.Logf("trust: %d rounds of replicas of which everything is asked at once", *rounds)
}

// stress has replicas work, and checks what becomes of it.
func stress(t *testing.T, seed uint64) {
	goroutines := runtime.NumGoroutine()
	rng := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t, rng)
	defer w.stop()
	t.Logf("%d members, trusted %v, forks %v", len(w.members), w.trusted, w.forks)
	w.run(rng)
	w.log()
	if !t.Failed() {
		w.settle()
	}
	for _, m := range w.members {
		if l := m.life.Load(); l != nil {
			w.failed(l.close(), "close %s", m.name)
		}
	}
	wantNothingLeft(t, w.root, goroutines)
}

// run lets replicas work, all at once, for a while.
func (w *world) run(rng *rand.Rand) {
	next := func() *rand.Rand { return rand.New(rand.NewPCG(rng.Uint64(), 2)) }
	for _, m := range w.members {
		for range 2 {
			r := next()
			w.group.Go(func() { w.program(m, r) })
		}
	}
	for range 2 + rng.IntN(6) {
		r := next()
		w.group.Go(func() { w.link(r) })
	}
	r := next()
	w.group.Go(func() { w.keep(r) })
	select {
	case <-time.After(*lasting):
	case <-w.ctx.Done():
	}
	w.stop()
	w.group.Wait()
}

// wantNothingLeft waits until no goroutine runs any more and no file of a folder is open.
func wantNothingLeft(t *testing.T, root string, goroutines int) {
	for range 2000 {
		if runtime.NumGoroutine() <= goroutines && files(root) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	p := make([]byte, 1<<20)
	t.Errorf("%d goroutines instead of %d, %d files:\n%s", runtime.NumGoroutine(),
		goroutines, files(root), p[:runtime.Stack(p, true)])
}

// files returns how many files of a folder the process has open, where the system tells.
func files(root string) (n int) {
	all, _ := os.ReadDir("/proc/self/fd")
	for _, f := range all {
		if to, _ := os.Readlink("/proc/self/fd/" + f.Name()); strings.HasPrefix(to, root) {
			n++
		}
	}
	return n
}
