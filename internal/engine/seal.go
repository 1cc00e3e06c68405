package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/wal"
)

// maxSealed bounds the memtables that wait for their flush; a writer that fills one more waits too.
const maxSealed = 3

// waitForRoom returns when another memtable may be sealed: when there are not too many, and those,
// the active one and the one that is filled next fit the memory limit, or there is no other. If
// flushes fail, it says why, and if ctx ends, which must stir the engine, too.
func (e *Engine) waitForRoom(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.roomless++
	defer func() { e.mu.roomless-- }()
	for n := len(e.mu.sealed); n > 0; n = len(e.mu.sealed) {
		full := e.sealedBytes.Load() + e.turn.mem.Bytes() + e.options.Tuning.MemtableBytes
		fits := full <= e.options.heapBytes()
		if n < maxSealed && fits {
			break
		}
		if err := e.awaitFlushLocked(ctx); err != nil {
			return err
		}
	}
	return nil
}

// awaitFlushLocked returns after something has moved. If flushes fail, it has the oldest memtable's
// tried once more at once, and returns why that one fails too. When ctx ends, it returns why.
func (e *Engine) awaitFlushLocked(ctx context.Context) error {
	if err := cmp.Or(e.writable(), ctx.Err()); err != nil {
		return err
	}
	if e.mu.stalled == nil {
		e.mu.moved.Wait()
		return nil
	}
	fresh := e.mu.attempts + 1
	if e.mu.trying {
		fresh++ // that one may have met the trouble before it ended
	}
	for e.mu.stalled != nil && e.mu.attempts < fresh {
		poke(e.hurry)
		e.mu.moved.Wait()
		if err := cmp.Or(e.writable(), ctx.Err()); err != nil {
			return err
		}
	}
	return e.mu.stalled
}

// seal replaces the active memtable by an empty one and starts its flush. All commits in it are
// durable and published first, so that only the last log segment can ever have a torn tail. The
// caller holds the writer lock.
func (e *Engine) seal() error {
	e.turn.Lock()
	defer e.turn.Unlock()
	if err := e.commits.Sync(); err != nil {
		return err
	}
	logBytes := e.closeLog()
	if e.turn.newest.Empty() {
		return nil
	}
	full := sealed{
		root: e.turn.newest, bytes: e.turn.mem.Bytes(), log: e.turn.logNumber, logBytes: logBytes,
		lastCommit: e.commits.Newest(),
	}
	e.turn.mem, e.turn.newest, e.turn.logNumber = newMemtable(), memtable.Root{}, 0
	e.activeBytes.Store(0)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.addSealedLocked(full)
	e.startFlushLocked()
	return nil
}

// addSealedLocked moves a memtable from the active place to the sealed ones, in one step for
// readers.
func (e *Engine) addSealedLocked(full sealed) {
	e.mu.sealed = append(e.mu.sealed, full)
	e.publishLocked(func(next *superversion.Superversion) {
		next.Mem = memtable.Root{}
		next.Sealed = slices.Insert(slices.Clone(next.Sealed), 0, full.root)
	})
	e.setPaceLocked()
}

// closeLog ends the active log segment, all of which is durable or, if the database is poisoned, as
// durable as it will be, and returns how much of it is. One without a commit goes. The caller holds
// e.turn.
func (e *Engine) closeLog() (size int64) {
	log := e.commits.End()
	if log == nil {
		return 0
	}
	size = log.Durable()
	if err := log.Close(); err != nil { // what is needed of it is durable
		e.options.Logger.Warn("close log", "dir", e.dir, "err", err)
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	if e.turn.newest.Empty() && e.poisoned.Load() == nil {
		e.removeFile(wal.Name(e.turn.logNumber))
		e.turn.logNumber = 0
		return 0
	}
	e.installing.logs = append(e.installing.logs, e.turn.logNumber)
	return size
}

// logBytes returns the size of the active log segment. The caller holds the writer lock.
func (e *Engine) logBytes() int64 {
	e.turn.Lock()
	defer e.turn.Unlock()
	return e.commits.Size()
}

// takesMemory notes how much the memtable takes that is not sealed, with the transaction that is
// open. The caller holds e.turn.
func (e *Engine) takesMemory(bytes int64) {
	e.activeBytes.Store(bytes)
	e.divideMemory()
}

// divideMemory gives decoded blocks what the memtables leave of the memory limit.
func (e *Engine) divideMemory() {
	limit := e.options.heapBytes()
	used := e.activeBytes.Load() + e.sealedBytes.Load()
	e.cache.SetLimit(max(limit-used, limit/cacheShare))
}

// setPaceLocked sets how long commits are held back per byte: not at all while flushes and
// compactions keep up, then the more the further they lag.
func (e *Engine) setPaceLocked() {
	const nanosPerByte = 5 // 200 MB/s at the first step
	var bytes int64
	for _, s := range e.mu.sealed {
		bytes += s.bytes
	}
	e.sealedBytes.Store(bytes)
	e.divideMemory()
	lag := max(0, len(e.mu.sealed)-1)
	lag *= lag
	young := len(e.state.Load().Levels.Young)
	lag += max(0, young-2*e.picker().CrowdedRuns())
	e.paceNanos.Store(int64(lag) * nanosPerByte)
}

// Flush writes everything committed so far into tables.
func (e *Engine) Flush() error { return e.flush(context.Background()) }

// flush is Flush, which waits for others until ctx ends.
func (e *Engine) flush(ctx context.Context) error {
	if err := e.writable(); err != nil {
		return err
	}
	if err := e.writer.lock(ctx, e.stop, heldToFlush); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, e.stir)()
	err := e.waitForRoom(ctx)
	if err == nil {
		err = e.seal()
	}
	e.writer.unlock()
	if err != nil {
		return err
	}
	return e.awaitFlushed(ctx)
}

// stir has all who wait for something to move look again.
func (e *Engine) stir() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.moved.Broadcast()
}
