package engine

import (
	"context"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Entries that were deleted one by one, or have expired, cost each reader that passes them a step
// an entry. When a reader has passed many and knows that no key is left between them, the memtable
// is told to treat them as a deleted range, which the next reader passes at once. This changes no
// data, so the log need not know.

const (
	// clearShare, times Tuning.Passed, is how many entries a reader passes in a row until they are
	// worth a background job, which has to take its turn to write.
	clearShare = 4
	// clearSteps is how many entries that job passes at most while it keeps writers waiting.
	clearSteps = 64 << 10
)

// Passed reports to the transaction that a cursor over its newest Snapshot has passed so many
// entries in a row, and that no key in span exists. It returns whether that changes what the next
// Snapshot knows. If the transaction is rolled back, or writes nothing, it is forgotten.
func (w *Writer) Passed(span keyspace.Span, entries int) bool {
	if entries < w.engine.options.Tuning.Passed {
		return false
	}
	w.edit.Clear(span)
	return true
}

// Passed is Writer.Passed for readers of any snapshot. If a key in span exists by now, the span is
// cleared up to it. A backup that nobody has written to stays as it is, and nothing is hidden
// before what was read from disk is known to be durable, since the memtable becomes a table at some
// time.
func (e *Engine) Passed(span keyspace.Span, entries int) {
	few := entries < clearShare*e.options.Tuning.Passed
	backup := e.state.Load().Levels.Version.Backup
	if few || backup || e.writable() != nil || !e.clearing.CompareAndSwap(false, true) {
		return
	}
	span = span.Clone()
	e.spawn(func() {
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
		if err := e.writer.lock(context.Background(), heldByJob); err != nil {
			return nil // closed
		}
		absent := span
		err := vfs.CatchFaults(func() (err error) {
			absent, entries, err = e.clearAsWriter(span)
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

// worthClearing reports whether readers still pass much in span: what was passed in an older
// snapshot may be hidden by now. It makes no writer wait.
func (e *Engine) worthClearing(span keyspace.Span) (worth bool, err error) {
	few := e.options.Tuning.Passed
	err = vfs.CatchFaults(func() error {
		_, entries, err := e.state.Load().FirstAbsent(span, few)
		worth = entries >= few
		return err
	})
	return worth, err
}

// clearAsWriter is clear for at most clearSteps entries. It returns what it has found absent, in
// how many entries.
func (e *Engine) clearAsWriter(span keyspace.Span) (absent keyspace.Span, entries int, err error) {
	if !e.appending.TryLock() { // Close holds it and waits for this job, or Follow for a moment
		return keyspace.Span{}, 0, nil
	}
	defer e.appending.Unlock()
	commit := e.commits.Newest()
	err = e.commits.Wait(commit)
	if err != nil || e.writable() != nil || e.writer.standing != durable {
		return keyspace.Span{}, 0, err
	}
	// All that was appended is visible now, and nobody appends more.
	base := e.state.Load()
	edit := e.appending.mem.BeginOver(base)
	absent, entries, err = (&superversion.Superversion{
		Mem: edit.Root(), Sealed: base.Sealed, Levels: base.Levels,
	}).FirstAbsent(span, clearSteps)
	if err != nil || entries < e.options.Tuning.Passed {
		edit.Rollback()
		return absent, 0, err
	}
	edit.Clear(absent)
	e.appending.root = edit.Commit()
	e.publishRoot(commit, e.appending.root)
	e.memory.setActive(e.appending.mem.Bytes())
	e.rest.later()
	return absent, entries, nil
}
