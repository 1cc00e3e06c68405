package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
)

// maxSealed bounds the memtables that wait for their flush; a writer that fills one more waits too.
const maxSealed = 3

// sealed is a memtable on its way to tables.
type sealed struct {
	root       memtable.Root
	bytes      int64
	log        uint64 // its log segment, or 0
	logBytes   int64  // the segment's size
	lastCommit uint64
}

// sealAsWriter replaces the active memtable by an empty one and starts its flush. All commits in it
// are made durable and published first, so only the last log segment can have a torn tail.
func (e *Engine) sealAsWriter() error {
	e.appending.Lock()
	defer e.appending.Unlock()
	if err := e.commits.Sync(); err != nil {
		return err
	}
	full, ok := e.endMemtableAppending(e.appending.mem.Bytes())
	if !ok {
		return nil
	}
	e.appending.mem = newMemtable()
	e.memory.setActive(0)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.addSealedLocked(full)
	e.startFlushLocked()
	return nil
}

// endMemtableAppending ends the log segment of the active memtable, which takes the given number of
// bytes of memory, and returns what is to be flushed; ok is false if that is nothing. All commits
// in it are durable.
func (e *Engine) endMemtableAppending(bytes int64) (full sealed, ok bool) {
	logBytes := e.closeLogAppending()
	if e.appending.root.Empty() {
		return sealed{}, false
	}
	full = sealed{
		root: e.appending.root, bytes: bytes, log: e.appending.logNumber, logBytes: logBytes,
		lastCommit: e.commits.Newest(),
	}
	e.appending.root, e.appending.logNumber = memtable.Root{}, 0
	return full, true
}

// closeLogAppending ends the active log segment and returns how much of it is durable: all, unless
// the database is poisoned. A segment without a commit is removed.
func (e *Engine) closeLogAppending() (size int64) {
	log := e.commits.EndLog()
	if log == nil {
		return 0
	}
	size = log.Durable()
	if err := log.Close(); err != nil { // what is needed of it is durable
		e.options.Logger.Warn("close log", "dir", e.dir, "err", err)
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	if e.appending.root.Empty() && e.poisoned.Load() == nil {
		e.removeFileInstalling(folder.Log.Name(e.appending.logNumber))
		e.appending.logNumber = 0
		return 0
	}
	e.installing.logs = append(e.installing.logs, e.appending.logNumber)
	return size
}

// addSealedLocked moves a memtable from the active place to the sealed ones, in one step for
// readers.
func (e *Engine) addSealedLocked(full sealed) {
	e.mu.sealed = append(e.mu.sealed, full)
	e.publishLocked(func(next *superversion.Superversion) {
		next.Mem = memtable.Root{}
		next.Sealed = slices.Insert(slices.Clone(next.Sealed), 0, full.root)
	})
	e.balanceLocked()
}

// balanceLocked divides memory again, and sets the pace of commits: full speed while flushes and
// compactions keep up, then the slower the further they lag. It is to be called when a memtable or
// a young run has come or gone.
func (e *Engine) balanceLocked() {
	var bytes int64
	for _, s := range e.mu.sealed {
		bytes += s.bytes
	}
	e.memory.setSealed(bytes)
	lag := max(0, len(e.mu.sealed)-1)
	lag *= lag
	young := len(e.state.Load().Levels.Young)
	e.pace.set(lag + max(0, young-2*e.picker().CrowdedRuns()))
}

// waitRoomAsWriter returns when another memtable may be sealed: when there are not too many, and
// those, the active one and the one that is filled next fit the memory limit, or no other is left.
// It returns an error if flushes fail or ctx ends. The caller arranges that wakeAll is called when
// ctx ends.
func (e *Engine) waitRoomAsWriter(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.roomless++
	defer func() { e.mu.roomless-- }()
	for n := len(e.mu.sealed); n > 0; n = len(e.mu.sealed) {
		now := e.memory.sealed.Load() + e.appending.mem.Bytes()
		if n < maxSealed && now+e.options.Tuning.MemtableBytes <= e.memory.limit {
			break
		}
		if err := e.waitFlushLocked(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitFlushed returns when no sealed memtable is left, or why flushes fail. The caller arranges
// that wakeAll is called when ctx ends.
func (e *Engine) waitFlushed(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.mu.sealed) > 0 {
		if err := e.waitFlushLocked(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitFlushLocked returns after something has moved. If flushes fail, it has the oldest memtable's
// tried once more at once, and returns why that one fails too. When ctx ends, it returns why.
func (e *Engine) waitFlushLocked(ctx context.Context) error {
	if err := cmp.Or(e.writable(), ctx.Err()); err != nil {
		return err
	}
	if e.mu.stalled == nil {
		e.mu.moved.Wait()
		return nil
	}
	fresh := e.mu.attempts + 1
	if e.mu.trying {
		fresh++ // that attempt may have failed already
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

// wakeAll lets everyone who waits for something to move look again.
func (e *Engine) wakeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.moved.Broadcast()
}
