package engine

import (
	"slices"

	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/wal"
)

// maxSealed bounds the memtables that wait for their flush; a writer that fills one more waits too.
const maxSealed = 3

// waitForRoom returns when another memtable may be sealed. If flushes fail, it says why.
func (e *Engine) waitForRoom() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.sealed) >= maxSealed {
		if err := e.writable(); err != nil {
			return err
		}
		if e.stalled != nil {
			return e.stalled
		}
		e.moved.Wait()
	}
	return nil
}

// seal replaces the active memtable by an empty one and starts its flush. All commits in it are
// durable and published first, so that only the last log segment can ever have a torn tail. The
// caller holds the writer lock.
func (e *Engine) seal() error {
	e.turn.Lock()
	defer e.turn.Unlock()
	if e.newest.Len() == 0 {
		return nil
	}
	if err := e.drain(); err != nil {
		return err
	}
	if err := e.closeLog(); err != nil {
		return e.poison(err)
	}
	full := sealed{
		root: e.newest, bytes: e.mem.Bytes(), log: e.logNumber, lastCommit: e.committed.Load(),
	}
	e.mem, e.newest, e.logNumber = memtable.New(wal.HeaderBytes), memtable.Root{}, 0
	e.activeBytes.Store(0)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.addSealedLocked(full)
	e.startJobsLocked()
	return nil
}

// addSealedLocked moves a memtable from the active place to the sealed ones, in one step for
// readers.
func (e *Engine) addSealedLocked(full sealed) {
	e.sealed = append(e.sealed, full)
	e.publishLocked(func(next *superversion.Superversion) {
		next.Mem = memtable.Root{}
		next.Sealed = slices.Insert(slices.Clone(next.Sealed), 0, full.root)
	})
	e.setPaceLocked()
}

// closeLog ends the active log segment, all of which is durable. The caller holds e.turn.
func (e *Engine) closeLog() error {
	p := &e.pipeline
	p.mu.Lock()
	p.await()
	log := p.log
	p.log = nil
	p.mu.Unlock()
	if log == nil {
		return nil
	}
	e.installing.Lock()
	e.logs = append(e.logs, e.logNumber)
	e.installing.Unlock()
	return log.Close()
}

// divideMemory gives decoded blocks what the memtables leave of the memory limit.
func (e *Engine) divideMemory() {
	limit := e.options.MemoryLimit
	used := e.activeBytes.Load() + e.sealedBytes.Load()
	e.cache.SetLimit(max(limit-used, limit/cacheShare))
}

// setPaceLocked sets how long commits are held back per byte: not at all while flushes and merges
// keep up, then the more the further they lag.
func (e *Engine) setPaceLocked() {
	const nanosPerByte = 5 // 200 MB/s at the first step
	var bytes int64
	for _, s := range e.sealed {
		bytes += s.bytes
	}
	e.sealedBytes.Store(bytes)
	e.divideMemory()
	lag := max(0, len(e.sealed)-1)
	lag *= lag
	young := len(e.state.Load().Levels.Young)
	lag += max(0, young-2*e.options.Tuning.YoungRuns)
	e.paceNanos.Store(int64(lag) * nanosPerByte)
}

// Flush writes everything committed so far into tables.
func (e *Engine) Flush() error {
	if err := e.writable(); err != nil {
		return err
	}
	e.writer.Lock()
	err := e.waitForRoom()
	if err == nil {
		err = e.seal()
	}
	e.writer.Unlock()
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.sealed) > 0 {
		if err := e.writable(); err != nil {
			return err
		}
		if e.stalled != nil {
			return e.stalled
		}
		e.moved.Wait()
	}
	return nil
}
