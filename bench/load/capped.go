package load

import (
	"errors"
	"runtime/debug"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// What part of the capped memory is for what, as divisors. The rest is for the page cache, and for
// all that an engine keeps besides.
const (
	cacheShare = 8 // an engine's caches
	goShare    = 2 // Go's heap and all else of its runtime, which collects in time then
)

// loadForReads leaves a settled database to another process.
func (r *run) loadForReads() error {
	return r.steps("load", r.prepare, r.open, func() error {
		_, err := r.writeAndClose(r.loaded, true)
		return err
	})
}

// readsCapped measures the reads of that database while this process may have less memory than
// there is data. What it holds before does not count, so that neither the script nor the values
// that answers are compared with take any of it.
func (r *run) readsCapped() (err error) {
	if err := r.steps("draw up", r.prepareReads, r.dropCache); err != nil {
		return err
	}
	before := debug.SetMemoryLimit(r.plan.cap / goShare)
	defer debug.SetMemoryLimit(before)
	lift, err := r.plan.capMemory(r.plan.cap)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lift()) }()
	return r.steps("read with little memory",
		func() error { return r.openWith(max(engine.LeastCache, r.plan.cap/cacheShare)) },
		func() error { return r.reads("capped_", r.plan.capped, false) },
		r.close)
}

// prepareReads draws up what the load has written.
func (r *run) prepareReads() error {
	return r.prepareWrites(func() *writes {
		w := r.newWrites("load", r.plan.entries, false)
		for w.part > 0 {
			w.next(r)
		}
		return w
	})
}

func (r *run) dropCache() error { return machine.DropCache(r.dir()) }
