package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/trace"
	"slices"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/flush"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/sorter"
	"github.com/stoatdb/stoat/internal/superversion"
)

// spill is what a transaction has written to tables because it did not fit into memory.
//
// Plainly: a full memtable becomes young runs, as in a flush, except that nobody else knows of
// them. The transaction reads through levels of its own. Its commit is one edit of the manifest
// that adds all its runs; it needs no log (Invariant I12). The first memtable is the one that all
// transactions share, which also holds earlier commits. Its run holds them, too, so the edit leaves
// nothing of it in memory. Other commits cannot come in between, because the transaction holds the
// writer lock.
//
// One memtable is written in the background while the next is filled. If there are too many runs,
// the same job then compacts some of them with each other.
type spill struct {
	engine *Engine
	begun  *superversion.Superversion // keeps what was read before the spill valid
	shared *memtable.Edit             // of the memtable that all transactions share
	levels *superversion.Levels       // what the transaction reads, with its own runs
	older  int                        // how many of the young runs are not its own
	edit   manifest.Edit              // what it adds and drops, except its young runs

	job       chan outcome // holds the outcome of the job under way; nil if there is none
	err       error        // why a job failed
	cancelled atomic.Bool  // no more compactions: one has failed, or the transaction is rolled back
}

// outcome is what a job has written: a flush and perhaps a compaction of older runs, which comes
// first in the order of edits.
type outcome struct {
	compacted, flushed *manifest.Edit
	err                error
}

// spillParts is how many parts of a transaction are in memory beside the shared memtable: one that
// is being written, and one that is being filled.
const spillParts = 2

// toTables moves what is in the transaction's memory to tables and goes on with an empty memtable.
func (w *Writer) toTables() error {
	e := w.engine
	if err := e.writable(); err != nil {
		return err
	}
	first := w.spill == nil && w.bytes > 0 // a load begins with what others have committed
	if w.spill == nil {
		if err := w.startSpill(); err != nil {
			return err
		}
	}
	root := w.edit.Root()
	if err := w.spill.wait(); err != nil {
		return err
	}
	if err := w.spill.flush(root, first); err != nil {
		return err
	}
	w.edit, w.room, w.unlogged = memtable.New(0).BeginOver(w), e.options.Tuning.SpillBytes, 0
	w.base = &superversion.Superversion{Sealed: []memtable.Root{root}, Levels: w.spill.levels}
	e.appending.Lock()
	defer e.appending.Unlock()
	w.counted = true
	e.memory.setActive(e.appending.mem.Bytes() + spillParts*e.options.Tuning.SpillBytes)
	return nil
}

// startSpill prepares the way to tables: everything older than the shared memtable must be in
// tables first.
func (w *Writer) startSpill() error {
	e := w.engine
	if err := e.waitFlushed(context.Background()); err != nil {
		return err
	}
	levels := e.state.Load().Levels
	w.spill = &spill{
		engine: e, begun: w.base, shared: w.edit, levels: levels, older: len(levels.Version.Young),
	}
	return nil
}

// flush writes root to tables in the background. No job is under way. First says that root is the
// first part of the transaction: the next ones can see where that has its tables.
func (s *spill) flush(root memtable.Root, first bool) error {
	job := s.engine.flushJob(sealed{root: root}, s.levels, forNow)
	job.More = first
	return s.start(job.Do)
}

// flushSorted writes pairs to tables in the background. No job is under way.
func (s *spill) flushSorted(pairs *sorter.Sorter) error {
	job := s.engine.flushJob(sealed{}, s.levels, forNow)
	return s.start(func() (*manifest.Edit, error) { return job.DoSorted(pairs) })
}

// start runs a flush in the background, and then a compaction if there are too many runs.
func (s *spill) start(flushed func() (*manifest.Edit, error)) error {
	compact, crowded := s.compactionJob()
	job := make(chan outcome, 1)
	started := s.engine.spawn(func() {
		defer trace.StartRegion(context.Background(), "stoat.spill").End()
		var o outcome
		if o.flushed, o.err = flushed(); o.err == nil && crowded {
			o.compacted = s.compact(compact)
		}
		if errors.Is(o.err, flush.ErrCancelled) {
			o.err = ErrClosed
		}
		job <- o
	})
	if !started {
		return ErrClosed
	}
	s.job = job
	return nil
}

// wait returns when no job is under way, and the error if one has failed.
func (s *spill) wait() error {
	if s.job != nil {
		o := <-s.job
		s.job, s.err = nil, o.err
		for _, edit := range []*manifest.Edit{o.compacted, o.flushed} {
			if edit != nil {
				s.err = cmp.Or(s.err, s.add(edit))
			}
		}
	}
	if s.err != nil {
		return fmt.Errorf("write a large transaction: %w", s.err)
	}
	return nil
}

// addRun makes tables that were written past the memtable part of the transaction. What it wrote
// before is in tables.
func (w *Writer) addRun(edit *manifest.Edit) error {
	if err := w.spill.add(edit); err != nil {
		return err
	}
	w.base = &superversion.Superversion{Levels: w.spill.levels}
	return nil
}

// add makes the transaction see the tables of an edit. If the keys of a new run follow those of the
// newest own run, the two become one.
func (s *spill) add(edit *manifest.Edit) error {
	s.edit.AddBottom = append(s.edit.AddBottom, edit.AddBottom...)
	s.edit.AddValues = append(s.edit.AddValues, edit.AddValues...)
	s.edit.AddDictionaries = append(s.edit.AddDictionaries, edit.AddDictionaries...)
	s.edit.Drop = append(s.edit.Drop, edit.Drop...)
	change := *edit
	if own := s.own(); len(own) > 0 && edit.RemoveYoung.Count == 0 && len(edit.AddYoung) == 1 {
		if joined, ok := join(own[0], edit.AddYoung[0]); ok {
			change.AddYoung = []manifest.Run{joined}
			change.RemoveYoung = manifest.YoungRuns{Older: s.older + len(own) - 1, Count: 1}
		}
	}
	version, err := s.levels.Version.Apply(&change)
	if err != nil {
		s.edit.AddYoung = append(s.edit.AddYoung, edit.AddYoung...) // to be discarded
		return err
	}
	old := s.levels
	s.levels = superversion.NewLevels(version, old, s.engine.opener())
	if edit.RemoveYoung.Count > 0 {
		s.removeCompacted(old)
	}
	return nil
}

// own returns the transaction's own young runs, newest first.
func (s *spill) own() []manifest.Run {
	return slices.Clip(s.levels.Version.Young[:len(s.levels.Version.Young)-s.older])
}

// join returns one run with the tables of two, if the keys of the newer follow those of the older.
func join(older, newer manifest.Run) (joined manifest.Run, ok bool) {
	_, last, _ := older.Span()
	first, _, _ := newer.Span()
	if len(older.Deleted)+len(newer.Deleted) > 0 || string(last) >= string(first) {
		return manifest.Run{}, false
	}
	return manifest.Run{Tables: slices.Concat(older.Tables, newer.Tables)}, true
}

// compactionJob returns the cheapest worthwhile compaction of own runs; crowded is false if they
// are not too many.
func (s *spill) compactionJob() (job compaction.Job, crowded bool) {
	own, most := s.own(), s.engine.options.Tuning.OwnRuns
	if len(own) <= most || s.cancelled.Load() {
		return compaction.Job{}, false
	}
	young, _ := pick.Cheapest(own, max(most/2, 2)) // fewer are not worth it
	young.Older += s.older
	return s.engine.compactionJob(pick.Plan{Young: young}, s.levels, func() bool {
		return s.cancelled.Load() || s.engine.closed.Load()
	}), true
}

// compact runs a compaction. If it fails, the runs stay as they are until the transaction is
// committed.
func (s *spill) compact(job compaction.Job) *manifest.Edit {
	edit, err := job.Do()
	if err != nil {
		s.cancelled.Store(true)
		s.engine.options.Logger.Warn("compaction of a large transaction", "dir", s.engine.dir, "err", err)
		return nil
	}
	return edit
}

// removeCompacted removes the files of old that the levels no longer need. All are the
// transaction's own, because everything else in old is in the levels, too.
func (s *spill) removeCompacted(old *superversion.Levels) {
	version := s.levels.Version
	s.edit.AddValues = slices.DeleteFunc(s.edit.AddValues, func(f manifest.ValueFile) bool {
		_, needed := version.ValueFile(f.Number)
		return !needed
	})
	s.engine.whileOpen(func() { s.engine.removeUnneededInstalling(old, version) })
}

// discard removes everything written. The shared memtable keeps what the transaction wrote to it.
func (s *spill) discard() {
	s.cancelled.Store(true)
	_ = s.wait() // nothing of the job is needed, whether it failed or not
	s.engine.whileOpen(func() {
		s.engine.discardInstalling(&s.edit)
		s.engine.discardInstalling(&manifest.Edit{AddYoung: s.own()})
	})
}

// whileOpen calls remove, which removes files that nothing refers to, unless the engine is closed:
// then another process may use their numbers, and removed them when it opened the database.
func (e *Engine) whileOpen(remove func()) {
	e.appending.Lock()
	defer e.appending.Unlock()
	if e.closed.Load() {
		return
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	remove()
}

// commitTables ends a transaction that is in tables.
func (w *Writer) commitTables() error {
	if err := w.installTables(); err != nil {
		w.engine.countNoSpace(err)
		w.Rollback()
		return err
	}
	commit := w.engine.commits.Newest()
	w.engine.committedBytes.Add(w.bytes)
	w.engine.writer.unlock()
	w.engine.startJobs()
	return w.wait(commit)
}

// installTables writes what is left in memory to tables, and installs all of the transaction's
// tables in place of the shared memtable, whose commits they hold.
func (w *Writer) installTables() error {
	if !w.edit.Empty() {
		if err := w.toTables(); err != nil {
			return err
		}
	}
	if err := w.spill.wait(); err != nil {
		return err
	}
	e := w.engine
	e.appending.Lock()
	defer e.appending.Unlock()
	if err := e.writable(); err != nil {
		return err
	}
	if err := e.commits.Sync(); err != nil {
		return err
	}
	edit := w.spill.wholeEdit(e.state.Load().Levels.Version.DropEpoch)
	edit.LastCommit = e.commits.Newest() + 1
	if e.appending.logNumber > 0 {
		edit.LogNumber = e.appending.logNumber + 1
	}
	empty := func(next *superversion.Superversion) {
		next.Mem, next.Commit = memtable.Root{}, edit.LastCommit
	}
	if err := e.installEdit(edit, empty); err != nil {
		w.spill.forget() // installEdit has removed the files
		return err
	}
	e.appending.mem, e.appending.root = newMemtable(), memtable.Root{}
	e.memory.setActive(0)
	e.closeLogAppending()
	e.commits.Skip(edit.LastCommit)
	return nil
}

// wholeEdit returns one edit with all that the transaction did. The epoch says that its tables may
// hold keys of what it dropped itself.
func (s *spill) wholeEdit(epoch uint64) *manifest.Edit {
	all := s.edit
	all.AddYoung = s.own()
	for _, r := range append(all.AddYoung, manifest.Run{Tables: all.AddBottom}) {
		for _, t := range r.Tables {
			t.DropEpoch = epoch
		}
	}
	return &all
}

// forget leaves everything written to others, so that discard removes nothing.
func (s *spill) forget() { s.edit, s.older = manifest.Edit{}, len(s.levels.Version.Young) }
