package engine

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/pick"
)

const (
	// tidyShare of Tuning.CloseBytes, as a divisor, is how much of tables Close compacts.
	tidyShare = 6
	// maxDoublings bounds how often Close doubles what it reads to join young runs.
	maxDoublings = 16
)

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
	e.writer.close()
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
	e.memory.close()
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
	if err := e.flushSealed(); err != nil {
		return err
	}
	e.tidy()
	err := e.renewManifest()
	if errors.Is(err, manifest.ErrUnchanged) && e.installing.journalAt != 0 {
		e.options.Logger.Warn("the manifest keeps its edits", "dir", e.dir, "err", err)
		return nil
	}
	return err
}

// flushSealed writes all sealed memtables into tables: quickly, unless they are small or too much
// is deferred already.
func (e *Engine) flushSealed() error {
	effort, sizes := final, &e.options.Tuning
	deferred := pick.DeferredBytes(e.state.Load().Levels.Version)
	if e.memory.sealed.Load() > sizes.CloseBytes &&
		deferred <= deferredMost*uint64(sizes.DeferredBytes) {
		effort = quick
	}
	for len(e.mu.sealed) > 0 {
		if err := e.flushOne(e.mu.sealed[0], effort); err != nil {
			return err
		}
	}
	return nil
}

// tidy compacts what is small. From a crowd of young runs on, each further run doubles what Close
// may read to join some of them: sessions that are too short for compactions do not pile up runs. A
// failure costs nothing but the tidiness.
func (e *Engine) tidy() {
	version, picker := e.state.Load().Levels.Version, e.picker()
	runs, most := len(version.Young), uint64(e.options.Tuning.CloseBytes)/tidyShare
	surplus := runs - max(picker.CrowdedRuns(), 2)
	picker.YoungRuns = 1
	next, ok := picker.Next(version)
	ok = ok && next.RawBytes(version) <= most && len(next.Relocate) == 0
	if !ok && surplus >= 0 && !version.Backup {
		above := len(version.Young)
		if front, begun := version.Front(); begun {
			above = front.At // what is below goes on as it has begun
		}
		young, _ := pick.Cheapest(version.Young[:above], 2)
		young.Older += runs - above
		next = pick.Plan{Why: "crowded", Young: young}
		ok = young.Count > 0 && !picker.Avoids(next, version) &&
			next.RawBytes(version) <= most<<min(surplus, maxDoublings)
	}
	if !ok {
		return
	}
	if err := e.compact(next, false, func() bool { return false }); err != nil {
		e.options.Logger.Warn("compaction while closing", "dir", e.dir, "err", err)
	}
}
