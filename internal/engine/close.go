package engine

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/memtable"
)

// tidyBytes is how much a closing database merges at most, so that a small one is left as one
// table, and many short sessions do not leave many.
const tidyBytes = 16 << 20

// Close ends the database: no more begins and commits, background work stops, memtables become
// tables and the log goes, so that the next Open replays nothing. If flushing fails, the log stays
// and the next Open replays it. Of a poisoned database it returns why, because commits that
// were not synced may be lost. Snapshots that readers hold stay readable. Close is idempotent.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed.Swap(true) {
		e.mu.Unlock()
		return nil
	}
	e.current.Store(nil)
	e.moved.Broadcast()
	e.mu.Unlock()
	e.turn.Lock() // a commit that is under way ends before; none begins after
	defer e.turn.Unlock()
	close(e.stop)
	e.jobs.Wait()
	if e.options.ReadOnly {
		return nil
	}
	errs := []error{e.settle(), e.closeLog()}
	if e.journal != nil {
		errs = append(errs, e.journal.Close())
	}
	errs = append(errs, e.lock.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", e.dir, err)
	}
	return nil
}

// settle writes all memtables into tables and merges what is small. The caller holds e.turn.
func (e *Engine) settle() error {
	if p := e.poisoned.Load(); p != nil {
		return p
	}
	if e.options.Volatile {
		return nil
	}
	if err := e.drain(); err != nil {
		return err
	}
	if err := e.closeLog(); err != nil {
		return err
	}
	if e.newest.Len() > 0 {
		full := sealed{
			root: e.newest, bytes: e.mem.Bytes(), log: e.logNumber, lastCommit: e.committed.Load(),
		}
		e.newest = memtable.Root{}
		e.mu.Lock()
		e.addSealedLocked(full)
		e.mu.Unlock()
	}
	for len(e.sealed) > 0 {
		if err := e.flushOne(e.sealed[0], true); err != nil {
			return err
		}
	}
	version := e.state.Load().Levels.Version
	in, ok := pick(version, 1, true)
	if !ok || in.bytes(version) > tidyBytes {
		return nil
	}
	return e.mergeOne(in, func() bool { return false })
}
