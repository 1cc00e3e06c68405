package engine

import (
	"context"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// What was deleted one by one, or has expired, costs whoever passes it a step an entry. When
// somebody has, and knows that nothing is left between, the memtable is told to treat it as a
// deleted range: the next one passes it at once. That changes nothing that there is, so the log
// need not know.

const (
	// clearShare, times Tuning.Passed, is how many entries a reader passes in a row until they are
	// worth a background job, which has to take its turn to write.
	clearShare = 4
	// clearSteps is how many entries that job passes at most while it keeps writers waiting.
	clearSteps = 64 << 10
)

// Passed is told that a cursor over the newest Snapshot has passed so many entries in a row, and
// that no key in span exists. It reports whether that changes what the next Snapshot knows. If the
// transaction is rolled back, or writes nothing, it is forgotten.
func (w *Writer) Passed(span keyspace.Span, entries int) bool {
	if entries < w.engine.options.Tuning.Passed {
		return false
	}
	w.edit.Clear(span)
	return true
}

// Passed is Writer.Passed for readers of any snapshot. A span in which there is a key by now is
// cleared up to that. A backup that nobody has written to stays as it is, and nothing is hidden
// before what was read of a database is durable, since the memtable becomes a table at some time.
func (e *Engine) Passed(span keyspace.Span, entries int) {
	few := entries < clearShare*e.options.Tuning.Passed
	backup := e.state.Load().Levels.Version.IsBackup()
	if few || backup || e.writable() != nil || !e.clearing.CompareAndSwap(false, true) {
		return
	}
	span = span.Clone()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() { // it waits for the jobs that it knows
		return
	}
	e.jobs.Go(func() {
		defer e.clearing.Store(false)
		if err := e.clear(span); err != nil {
			e.options.Logger.Warn("pass what is deleted", "dir", e.dir, "err", err)
		}
	})
}

// clear has the memtable hide what is absent in span from its first entry on.
func (e *Engine) clear(span keyspace.Span) error {
	for entries := clearSteps; entries == clearSteps; {
		if worth, err := e.worthClearing(span); !worth || err != nil {
			return err
		}
		if err := e.writer.lock(context.Background(), e.stop, heldToFlush); err != nil {
			return nil // closed
		}
		absent := span
		err := vfs.CatchFaults(func() (err error) {
			absent, entries, err = e.clearSome(span)
			return err
		})
		e.writer.unlock()
		if err != nil {
			return err
		}
		span.Start = absent.End
	}
	return nil
}

// worthClearing reports whether readers still pass much in span: what a snapshot has passed that is
// not the newest may be hidden since. It keeps nobody waiting.
func (e *Engine) worthClearing(span keyspace.Span) (worth bool, err error) {
	few := e.options.Tuning.Passed
	err = vfs.CatchFaults(func() error {
		_, entries, err := e.state.Load().FirstAbsent(span, few)
		worth = entries >= few
		return err
	})
	return worth, err
}

// clearSome is clear for some steps. It returns what it has found absent, in how many entries. The
// caller holds the writer lock.
func (e *Engine) clearSome(span keyspace.Span) (absent keyspace.Span, entries int, err error) {
	if !e.turn.TryLock() { // Close has it, and waits
		return keyspace.Span{}, 0, nil
	}
	defer e.turn.Unlock()
	commit := e.commits.Newest()
	err = e.commits.Wait(commit)
	if err != nil || e.writable() != nil || e.writer.standing != durable {
		return keyspace.Span{}, 0, err
	}
	// All that was appended is visible now, and nobody appends more.
	base := e.state.Load()
	edit := e.turn.mem.BeginOver(base)
	absent, entries, err = (&superversion.Superversion{
		Mem: edit.Root(), Sealed: base.Sealed, Levels: base.Levels,
	}).FirstAbsent(span, clearSteps)
	if err != nil || entries < e.options.Tuning.Passed {
		edit.Rollback()
		return absent, 0, err
	}
	edit.Clear(absent)
	e.turn.newest = edit.Commit()
	e.publishRoot(commit, e.turn.newest)
	e.takesMemory(e.turn.mem.Bytes())
	e.restLater()
	return absent, entries, nil
}
