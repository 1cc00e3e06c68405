package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/sorter"
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
// One memtable is written while the next is filled. When there are too many runs, some are
// compacted with each other at the same time.
type spill struct {
	engine  *Engine
	begun   *superversion.Superversion // what the transaction began on, which its reads are still of
	shared  *memtable.Edit             // of the memtable that all transactions share
	levels  *superversion.Levels       // with the transaction's own runs
	older   int                        // how many of the young runs are not its own
	rest    manifest.Edit              // what it adds and drops, but for the young runs
	writing chan written               // holds the outcome of the job under way; nil if there is none
	err     error                      // why a job failed
	stopped atomic.Bool                // no more compactions: one has failed, or they are in vain
}

// written is the outcome of a job: of a compaction of own runs, if there was one, and of the flush
// of a newer one.
type written struct {
	merged, flushed *manifest.Edit
	err             error
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
	w.edit, w.room, w.unlogged = memtable.New(0).BeginOver(w), w.engine.options.Tuning.SpillBytes, 0
	w.countParts()
	w.base = &superversion.Superversion{Sealed: []memtable.Root{root}, Levels: w.spill.levels}
	return nil
}

// spillParts is how many parts of a transaction are in memory beside the shared memtable: one that
// is being written, and one that is being filled.
const spillParts = 2

// countParts has the memory counted that the transaction takes from now on.
func (w *Writer) countParts() {
	e := w.engine
	e.turn.Lock()
	defer e.turn.Unlock()
	w.counted = true
	e.memory.setActive(e.turn.mem.Bytes() + spillParts*e.options.Tuning.SpillBytes)
}

// startSpill prepares the way to tables: everything older than the shared memtable is in tables.
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

// start writes root to tables in the background. The job before has ended.
func (s *spill) start(root memtable.Root) error {
	return s.startJob(s.engine.flushJob(sealed{root: root}, s.levels, false).Do)
}

// startSorted writes pairs to tables in the background. The job before has ended.
func (s *spill) startSorted(pairs *sorter.Sorter) error {
	job := s.engine.flushJob(sealed{}, s.levels, false)
	return s.startJob(func() (*manifest.Edit, error) { return job.DoSorted(pairs) })
}

// startJob has run, which writes newer tables, called in the background, and perhaps a compaction.
func (s *spill) startJob(run func() (*manifest.Edit, error)) error {
	e := s.engine
	tidy, crowded := s.compactionJob()
	writing := make(chan written, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() { // it waits for the jobs that it knows
		return ErrClosed
	}
	s.writing = writing
	e.jobs.Go(func() {
		var w written
		w.flushed, w.err = run()
		if w.err == nil && crowded {
			w.merged = s.merge(tidy)
		}
		writing <- w
	})
	return nil
}

// wait returns when no job is under way, and why one failed.
func (s *spill) wait() error {
	if s.writing != nil {
		w := <-s.writing
		s.writing = nil
		s.err = w.err
		for _, edit := range []*manifest.Edit{w.merged, w.flushed} {
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

// adoptRun makes tables that were written past the memtable part of the transaction. What it wrote
// before is in tables.
func (w *Writer) adoptRun(edit *manifest.Edit) error {
	if err := w.spill.add(edit); err != nil {
		return err
	}
	w.base = &superversion.Superversion{Levels: w.spill.levels}
	return nil
}

// add makes the transaction see the tables of an edit. A run that lies behind the newest own one in
// key order becomes part of it.
func (s *spill) add(edit *manifest.Edit) error {
	s.rest.AddBottom = append(s.rest.AddBottom, edit.AddBottom...)
	s.rest.AddValues = append(s.rest.AddValues, edit.AddValues...)
	s.rest.AddDictionaries = append(s.rest.AddDictionaries, edit.AddDictionaries...)
	s.rest.Drop = append(s.rest.Drop, edit.Drop...)
	change := *edit
	if own := s.own(); len(own) > 0 && edit.RemoveYoung.Count == 0 && len(edit.AddYoung) == 1 {
		if joined, ok := join(own[0], edit.AddYoung[0]); ok {
			change.AddYoung = []manifest.Run{joined}
			change.RemoveYoung = manifest.YoungRuns{Older: s.older + len(own) - 1, Count: 1}
		}
	}
	version, err := s.levels.Version.Apply(&change)
	if err != nil {
		s.rest.AddYoung = append(s.rest.AddYoung, edit.AddYoung...) // to be discarded
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

// join returns one run with all of two, if the newer one lies behind the older one in key order.
func join(older, newer manifest.Run) (joined manifest.Run, ok bool) {
	_, last, _ := older.Span()
	first, _, _ := newer.Span()
	if len(older.Deleted)+len(newer.Deleted) > 0 || string(last) >= string(first) {
		return manifest.Run{}, false
	}
	return manifest.Run{Tables: slices.Concat(older.Tables, newer.Tables)}, true
}

// compactionJob returns the compaction of own runs that saves one at the least cost, if there are
// too many.
func (s *spill) compactionJob() (job compaction.Job, crowded bool) {
	own, most := s.own(), s.engine.options.Tuning.OwnRuns
	if len(own) <= most || s.stopped.Load() {
		return compaction.Job{}, false
	}
	young, _ := pick.Cheapest(own, max(most/2, 2)) // fewer are not worth it
	young.Older += s.older
	return s.engine.compactionJob(pick.Plan{Young: young}, s.levels, func() bool {
		return s.stopped.Load() || s.engine.closed.Load()
	}), true
}

// compaction does a compaction. If that fails, the runs stay as they are until the transaction is
// committed.
func (s *spill) merge(job compaction.Job) *manifest.Edit {
	edit, err := job.Do()
	if err != nil {
		s.stopped.Store(true)
		s.engine.options.Logger.Warn("compaction of a large transaction", "dir", s.engine.dir, "err", err)
		return nil
	}
	return edit
}

// removeCompacted removes the files of old that the levels do not need any more. All are the
// transaction's own, because everything else in old is in the levels, too.
func (s *spill) removeCompacted(old *superversion.Levels) {
	version := s.levels.Version
	s.rest.AddValues = slices.DeleteFunc(s.rest.AddValues, func(f manifest.ValueFile) bool {
		_, needed := version.ValueFile(f.Number)
		return !needed
	})
	s.engine.whileOpen(func() { s.engine.removeUnneeded(old, version) })
}

// forget leaves everything written alone.
func (s *spill) forget() { s.rest, s.older = manifest.Edit{}, len(s.levels.Version.Young) }

// discard removes everything written.
func (s *spill) discard() {
	s.stopped.Store(true)
	_ = s.wait() // whoever discards knows of a failure, or need not know
	s.engine.whileOpen(func() {
		s.engine.discard(&s.rest)
		s.engine.discard(&manifest.Edit{AddYoung: s.own()})
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
	all := s.rest
	all.AddYoung = s.own()
	for _, r := range append(all.AddYoung, manifest.Run{Tables: all.AddBottom}) {
		for _, t := range r.Tables {
			t.DropEpoch = epoch
		}
	}
	return &all
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
	if err := e.commits.Sync(); err != nil {
		return err
	}
	version := e.state.Load().Levels.Version
	edit := w.spill.edit(version.DropEpoch)
	edit.LastCommit = e.commits.Newest() + 1
	if e.turn.logNumber > 0 {
		edit.LogNumber = e.turn.logNumber + 1
	}
	empty := func(next *superversion.Superversion) {
		next.Mem, next.Commit = memtable.Root{}, edit.LastCommit
	}
	if err := e.install(edit, empty); err != nil {
		w.spill.forget() // install has removed the files
		return err
	}
	e.turn.mem, e.turn.newest = newMemtable(), memtable.Root{}
	e.closeLogInTurn()
	e.commits.Skip(edit.LastCommit)
	e.memory.setActive(0)
	return nil
}
