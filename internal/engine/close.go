package engine

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/manifest"
)

// tidyBytes is how much a closing database compacts at most, so that a small one is left as one
// table, and many short sessions do not leave many.
const tidyBytes = 16 << 20

// closeShare of the large values that Close compresses at most, as a divisor, may be ones that were
// deferred before.
const closeShare = 4

// Close ends the database: no transaction begins or commits any more, background work stops,
// memtables become tables and the log goes, so that the next Open replays nothing. If flushing
// fails, the log stays and the next Open replays it. Close of a poisoned database returns why it is
// poisoned, because commits that were not synced may be lost. Snapshots that readers hold stay
// readable. Closing again waits for the end and returns nil.
func (e *Engine) Close() (err error) {
	e.closing.Do(func() {
		if err = e.close(); err != nil {
			err = fmt.Errorf("close %s: %w", e.dir, err)
		}
	})
	return err
}

func (e *Engine) close() error {
	e.mu.Lock()
	e.closed.Store(true)
	e.current.Store(nil)
	if e.mu.wake != nil {
		e.mu.wake.Stop()
	}
	e.mu.moved.Broadcast()
	e.mu.Unlock()
	e.rest.stop()
	e.appending.Lock() // a commit that is under way ends first; none begins after it
	defer e.appending.Unlock()
	close(e.stop)
	e.jobs.Wait()
	var errs []error
	if !e.options.ReadOnly {
		errs = append(errs, e.settleAppending())
		e.closeLogAppending()
		e.installing.Lock() // a backup that nobody waits for may let go of files
		e.removeGarbageInstalling()
		e.installing.Unlock()
		if e.installing.journal != nil {
			errs = append(errs, e.installing.journal.Close())
		}
	}
	e.commits.Stop(ErrClosed)
	e.forget()
	errs = append(errs, e.closeFolder())
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
	return errors.Join(errs...)
}

// settleAppending writes all memtables into tables, compacts what is small and leaves a manifest
// without edits.
func (e *Engine) settleAppending() error {
	if err := e.whyPoisoned(); err != nil {
		return err
	}
	if e.options.Volatile {
		return nil
	}
	if err := e.commits.Sync(); err != nil {
		return err
	}
	// A transaction that is still open may write to the memtable, so its size is what was noted.
	if full, ok := e.endMemtableAppending(e.memory.active.Load()); ok {
		e.mu.Lock()
		e.addSealedLocked(full)
		e.mu.Unlock()
	}
	left, err := e.flushSealed()
	if err != nil {
		return err
	}
	e.shrinkSome(min(left, uint64(e.options.Tuning.CloseBytes)/closeShare))
	e.tidy()
	err = e.renewManifest()
	if errors.Is(err, manifest.ErrUnchanged) && e.installing.journalAt != 0 {
		e.options.Logger.Warn("the manifest keeps its edits", "dir", e.dir, "err", err)
		return nil
	}
	return err
}

// flushSealed writes all sealed memtables into tables. It compresses a bounded amount of large
// values and returns what is left of that bound; further values are deferred until the database is
// opened again.
func (e *Engine) flushSealed() (left uint64, err error) {
	left = uint64(e.options.Tuning.CloseBytes)
	for len(e.mu.sealed) > 0 {
		large := uint64(0)
		deferIf := func(_ bool, bytes uint64) bool {
			large = max(large, bytes) // it is asked again about what is left
			return bytes > left
		}
		if err := e.flushOne(e.mu.sealed[0], final, deferIf); err != nil {
			return 0, err
		}
		if large <= left {
			left -= large
		}
	}
	return left, nil
}

// tidy compacts what is small, unless values are deferred, which a compaction would compress. A
// failure costs nothing but the tidiness.
func (e *Engine) tidy() {
	version, picker := e.state.Load().Levels.Version, e.picker()
	if _, deferred := picker.Deferred(version); deferred {
		return
	}
	picker.YoungRuns = 1
	next, ok := picker.Next(version)
	if !ok || next.Bytes(version) > tidyBytes || len(next.Relocate) > 0 {
		return
	}
	if err := e.compact(next, func() bool { return false }); err != nil {
		e.options.Logger.Warn("compaction while closing", "dir", e.dir, "err", err)
	}
}
