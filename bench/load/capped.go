package load

import (
	"errors"
	"runtime/debug"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// The parts of the capped memory, as divisors. The rest is for the page cache and everything else
// an engine keeps.
const (
	cacheShare = 8 // an engine's caches
	goShare    = 2 // the memory limit of Go's runtime, which then collects in time
)

// loadForReads leaves a settled database to another process.
func (r *run) loadForReads() error {
	return r.steps("load", r.prepare, r.open, func() error {
		_, err := r.writeAndClose(r.loaded, settled)
		return err
	})
}

// readsCapped measures the reads of that database while this process has less memory than data.
// Memory used before the cap does not count, so neither the script nor the values that answers are
// compared with use any of it.
func (r *run) readsCapped() (err error) {
	if err := r.steps("prepare", r.prepareReads, r.dropCache); err != nil {
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
		func() error { return r.reads("capped_", r.plan.capped, wantedRows) },
		func() error { return machine.CheckCached(r.dir(), r.plan.cap) },
		r.close)
}

// prepareReads prepares the state that the load has written.
func (r *run) prepareReads() error {
	return r.prepareWrites(func() *writes {
		w := r.newWrites("load", r.plan.entries, putsOnly)
		for w.part > 0 {
			w.next(r)
		}
		return w
	})
}

func (r *run) dropCache() error { return machine.DropCache(r.dir()) }
