package engine

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
)

// spill is what a transaction has written to tables, because it did not fit into memory.
//
// Plainly: a memtable that is full becomes young runs, as in a flush, that nobody else knows of.
// The transaction reads through levels of its own, and its commit is one edit of the manifest that
// adds all its runs: it needs no log. The first memtable is the one that all transactions share,
// with the commits before; its run has those, too, so that the edit leaves nothing of it in memory.
// Other commits cannot come in between, because the transaction holds the writer lock.
//
// One memtable is written while the next is filled.
type spill struct {
	engine  *Engine
	begun   *superversion.Superversion // what the transaction began on, which its reads are still of
	shared  *memtable.Edit             // of the memtable that all transactions share
	levels  *superversion.Levels
	edits   []*manifest.Edit // oldest first
	writing chan written     // holds the outcome of the job under way; nil if there is none
	err     error            // why a job failed
}

// written is the outcome of a job.
type written struct {
	edit *manifest.Edit
	err  error
}

// toTables moves what is in the transaction's memory to tables and goes on with an empty memtable.
func (w *Writer) toTables() error {
	if err := w.engine.writable(); err != nil {
		return err
	}
	if w.spill == nil {
		if err := w.startSpill(); err != nil {
			return err
		}
	}
	root := w.edit.Root()
	if err := w.spill.wait(); err != nil {
		return err
	}
	if err := w.spill.start(root); err != nil {
		return err
	}
	w.edit, w.written, w.pending = memtable.New(0).Begin(), 0, 0
	w.base = &superversion.Superversion{Sealed: []memtable.Root{root}, Levels: w.spill.levels}
	return nil
}

// startSpill prepares the way to tables: everything older than the shared memtable is in tables.
func (w *Writer) startSpill() error {
	e := w.engine
	if err := e.awaitFlushed(); err != nil {
		return err
	}
	w.spill = &spill{engine: e, begun: w.base, shared: w.edit, levels: e.state.Load().Levels}
	return nil
}

// awaitFlushed returns when no sealed memtable is left.
func (e *Engine) awaitFlushed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.sealed) > 0 {
		if err := e.awaitFlushLocked(); err != nil {
			return err
		}
	}
	return nil
}

// start writes root to tables in the background. The job before has ended.
func (s *spill) start(root memtable.Root) error {
	e := s.engine
	job := e.flushJob(sealed{root: root}, s.levels, false)
	writing := make(chan written, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() { // it waits for the jobs that it knows
		return ErrClosed
	}
	s.writing = writing
	e.jobs.Go(func() {
		edit, err := job.Run()
		writing <- written{edit, err}
	})
	return nil
}

// wait returns when no job is under way, and why one failed.
func (s *spill) wait() error {
	if s.writing != nil {
		w := <-s.writing
		s.writing = nil
		if s.err = w.err; s.err == nil {
			s.err = s.add(w.edit)
		}
	}
	if s.err != nil {
		return fmt.Errorf("write a large transaction: %w", s.err)
	}
	return nil
}

// adoptRun makes tables that were written past the memtable part of the transaction. What it wrote
// before is in tables.
func (w *Writer) adoptRun(edit *manifest.Edit) error {
	if err := w.spill.add(edit); err != nil {
		return err
	}
	w.base = &superversion.Superversion{Levels: w.spill.levels}
	return nil
}

// add makes the transaction see the tables of an edit.
func (s *spill) add(edit *manifest.Edit) error {
	s.edits = append(s.edits, edit)
	version, err := s.levels.Version.Apply(edit)
	if err == nil {
		s.levels = superversion.NewLevels(version, s.levels, s.engine.opener())
	}
	return err
}

// discard removes everything written.
func (s *spill) discard() {
	_ = s.wait() // whoever discards knows of a failure, or need not know
	s.engine.whileOpen(func() {
		for _, edit := range s.edits {
			s.engine.discard(edit)
		}
	})
	s.shared.Rollback()
}

// whileOpen calls remove, which removes files that nothing refers to, unless the engine is closed:
// another process may use their numbers then, and has removed them when it opened the database.
func (e *Engine) whileOpen(remove func()) {
	e.turn.Lock()
	defer e.turn.Unlock()
	if e.closed.Load() {
		return
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	remove()
}

// edit returns one edit with all that the transaction did. Of what it dropped, its own tables may
// hold something.
func (s *spill) edit(epoch uint64) *manifest.Edit {
	all := &manifest.Edit{}
	for _, edit := range s.edits {
		for _, r := range append(edit.AddYoung, manifest.Run{Tables: edit.AddBottom}) {
			for _, t := range r.Tables {
				t.DropEpoch = epoch
			}
		}
		for _, r := range edit.AddYoung {
			all.AddYoung = addRun(all.AddYoung, r)
		}
		all.AddBottom = append(all.AddBottom, edit.AddBottom...)
		all.AddValues = append(all.AddValues, edit.AddValues...)
		all.Drop = append(all.Drop, edit.Drop...)
	}
	return all
}

// addRun returns the young runs, newest first, with a newer one. What lies behind the newest of
// them in key order becomes part of it.
func addRun(young []manifest.Run, r manifest.Run) []manifest.Run {
	if len(young) > 0 {
		_, last, _ := young[0].Span()
		first, _, _ := r.Span()
		if len(r.Deleted)+len(young[0].Deleted) == 0 && string(last) < string(first) {
			young[0].Tables = append(young[0].Tables, r.Tables...)
			return young
		}
	}
	return append([]manifest.Run{r}, young...)
}

// commitTables ends a transaction that is in tables.
func (w *Writer) commitTables() error {
	e := w.engine
	if !w.edit.Empty() {
		if err := w.toTables(); err != nil {
			w.Rollback()
			return err
		}
	}
	if err := w.spill.wait(); err != nil {
		w.Rollback()
		return err
	}
	if err := w.adopt(); err != nil {
		w.Rollback()
		return err
	}
	e.committedBytes.Add(w.bytes)
	e.writer.unlock()
	return nil
}

// adopt installs the transaction's tables in place of the shared memtable, whose commits they hold.
func (w *Writer) adopt() error {
	e := w.engine
	e.turn.Lock()
	defer e.turn.Unlock()
	if err := e.writable(); err != nil {
		return err
	}
	if err := e.drain(); err != nil {
		return err
	}
	version := e.state.Load().Levels.Version
	edit := w.spill.edit(version.DropEpoch)
	edit.LastCommit = e.committed.Load() + 1
	if e.logNumber > 0 {
		edit.LogNumber = e.logNumber + 1
	}
	empty := func(next *superversion.Superversion) { next.Mem = memtable.Root{} }
	if err := e.install(edit, empty); err != nil {
		w.spill.edits = nil // install has removed the files
		return err
	}
	e.mem, e.newest = newMemtable(), memtable.Root{}
	e.closeLog()
	e.committed.Store(edit.LastCommit)
	e.activeBytes.Store(0)
	e.divideMemory()
	e.pipeline.skip(edit.LastCommit)
	return nil
}
