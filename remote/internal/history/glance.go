package history

import (
	"context"
	"math"
	"sync"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// glanceMost is how many objects a glance asks for by their numbers: what a writer adds in an
// answer or two.
const glanceMost = 4

// glance is what a claimant sees of the end of the log while its claim is on its way: if another
// object has the number of the claim, what that is and what comes after it, without another round
// trip.
type glance struct {
	objstore.Store // that the claim goes to
	log            *Log
	ahead          *ahead
	context        context.Context // of its requests
	cancel         context.CancelFunc
	running        sync.WaitGroup

	mu     sync.Mutex
	listed []objstore.Object // the log objects after the follower's state
	newest uint64            // the number of the newest state
	known  int               // how many of the two are
}

// newGlance begins a glance at the log after the state of a follower.
func (f *Follower) newGlance(ctx context.Context, store objstore.Store) *glance {
	g := &glance{Store: store, log: f.log, ahead: f.ahead}
	g.context, g.cancel = context.WithCancel(ctx)
	after := f.state.Number
	for n := after + 1; n <= after+glanceMost; n++ {
		g.ask(func(ctx context.Context) error { return g.get(ctx, logName(n)) })
	}
	g.ask(func(ctx context.Context) error {
		listed, err := f.log.listedAfter(ctx, after, math.MaxUint64)
		g.note(func() { g.listed = listed }, err)
		return err
	})
	g.ask(func(ctx context.Context) error {
		newest, err := f.log.newestNumber(ctx)
		g.note(func() { g.newest = newest }, err)
		return err
	})
	return g
}

// ask makes a request, at the same time as others unless only one is to be made. What fails is
// asked for again by whoever needs it.
func (g *glance) ask(request func(context.Context) error) {
	if g.log.Parallel == 1 {
		_ = request(g.context)
		return
	}
	g.running.Go(func() { _ = request(g.context) })
}

// get fetches an object if it exists.
func (g *glance) get(ctx context.Context, name string) error {
	p, err := g.ahead.Store.Get(ctx, name, 0, object.EditBytesMax+1)
	if err == nil {
		g.ahead.put(name, p)
	}
	return err
}

// note records an answer, unless there is an error.
func (g *glance) note(record func(), err error) {
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	record()
	g.known++
}

// end ends the glance. What is not answered yet stays unknown.
func (g *glance) end() {
	g.cancel()
	g.running.Wait()
}

// seen returns the number of the newest state, as far as it is known by now; 0 if it is not.
func (g *glance) seen() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.newest
}

// news waits for what a follower asks for when it reads on. It is not ok if a request has failed.
func (g *glance) news() (listed []objstore.Object, newest uint64, ok bool) {
	g.running.Wait()
	g.cancel()
	return g.listed, g.newest, g.known == 2
}

// Get implements [objstore.Store] for a claim whose number is taken: what it reads back, the
// follower has at hand.
func (g *glance) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	g.running.Wait()
	if p := g.ahead.at(name); p != nil {
		return p, nil
	}
	p, err := g.Store.Get(ctx, name, off, n)
	if err == nil {
		g.ahead.put(name, p)
	}
	return p, err
}
