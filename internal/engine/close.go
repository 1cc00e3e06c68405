package engine

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
)

// tidyBytes is how much a closing database merges at most, so that a small one is left as one
// table, and many short sessions do not leave many.
const tidyBytes = 16 << 20

// Close ends the database: no more begins and commits, background work stops, memtables become
// tables and the log goes, so that the next Open replays nothing. If flushing fails, the log stays
// and the next Open replays it. Of a poisoned database it returns why, because commits that
// were not synced may be lost. Snapshots that readers hold stay readable. Closing again waits for
// the end and returns nil.
func (e *Engine) Close() (err error) {
	e.closing.Do(func() {
		err = e.close()
		e.recent.end()
	})
	return err
}

func (e *Engine) close() error {
	e.mu.Lock()
	e.closed.Store(true)
	e.current.Store(nil)
	if e.wake != nil {
		e.wake.Stop()
	}
	e.moved.Broadcast()
	e.mu.Unlock()
	if t := e.restTimer.Load(); t != nil {
		t.Stop() // it keeps the engine reachable
	}
	e.turn.Lock() // a commit that is under way ends before; none begins after
	defer e.turn.Unlock()
	close(e.stop)
	e.jobs.Wait()
	var errs []error
	if !e.options.ReadOnly {
		errs = append(errs, e.settle())
		e.closeLog()
		e.installing.Lock() // a backup that nobody waits for may let go of files
		e.removeGarbage()
		e.installing.Unlock()
		if e.journal != nil {
			errs = append(errs, e.journal.Close())
		}
	}
	errs = append(errs, e.closeFolder())
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
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
	logBytes := e.closeLog()
	if !e.newest.Empty() {
		full := sealed{
			root: e.newest, bytes: e.activeBytes.Load(), log: e.logNumber, logBytes: logBytes,
			lastCommit: e.committed.Load(),
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
	e.tidy()
	if err := e.sealManifest(); errors.Is(err, manifest.ErrUnchanged) && e.journalAt != 0 {
		e.options.Logger.Warn("the manifest keeps its edits", "dir", e.dir, "err", err)
	} else if err != nil {
		return err
	}
	return nil
}

// tidy merges what is small. It is no loss if that fails.
func (e *Engine) tidy() {
	version := e.state.Load().Levels.Version
	p, ok := e.picker(1, true).pick(version)
	if !ok || p.bytes(version) > tidyBytes || len(p.relocate) > 0 {
		return
	}
	if err := e.mergeOne(p, func() bool { return false }); err != nil {
		e.options.Logger.Warn("merge while closing", "dir", e.dir, "err", err)
	}
}
