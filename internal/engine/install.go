package engine

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/wal"
)

// install makes a job's edit durable, then visible, then removes the files that it made obsolete.
// In the same step for readers it applies change. On error, unless that is ErrPoisoned, nothing
// has changed and the job's files are gone.
func (e *Engine) install(edit *manifest.Edit, change func(next *superversion.Superversion)) error {
	e.installing.Lock()
	defer e.installing.Unlock()
	old := e.state.Load().Levels
	edit.NextNumber = e.numbers.Load()
	version, err := old.Version.Apply(edit)
	if err == nil {
		// The tables' names must be durable before the manifest refers to them.
		err = e.fs.SyncDir(e.dir)
	}
	if err == nil {
		err = e.record(edit, version)
		if err != nil && !errors.Is(err, manifest.ErrUnchanged) {
			return e.poison(err)
		}
	}
	if err != nil {
		return errors.Join(err, e.discard(edit))
	}
	levels := superversion.NewLevels(version, old, e.openTable)
	e.mu.Lock()
	e.publishLocked(func(next *superversion.Superversion) {
		next.Levels = levels
		change(next)
	})
	e.setPaceLocked()
	e.startJobsLocked()
	e.mu.Unlock()
	e.removeObsolete(edit, old, version.LogNumber)
	return nil
}

// record appends edit to the manifest, or starts a new manifest with its outcome: always the first
// time after opening, because the end of the old one may be torn, and when it has grown long.
func (e *Engine) record(edit *manifest.Edit, outcome *manifest.Version) error {
	if e.journal != nil && e.journal.Size() < e.options.Tuning.JournalBytes {
		return e.journal.Append(edit)
	}
	number := e.nextNumber()
	outcome.NextNumber = number + 1
	next, err := manifest.Create(e.fs, e.dir, number, e.database, outcome)
	if err != nil {
		return err
	}
	old := e.journal
	previous := e.journalAt
	e.journal, e.journalAt = next, number
	if old != nil {
		if err := old.Close(); err != nil {
			e.options.Logger.Warn("close obsolete manifest", "dir", e.dir, "err", err)
		}
	}
	e.removeFile(manifest.Name(previous))
	return nil
}

// discard removes the files of an edit that was not installed.
func (e *Engine) discard(edit *manifest.Edit) error {
	var errs []error
	for _, tables := range [][]*manifest.Table{edit.AddYoung, edit.AddBottom} {
		for _, t := range tables {
			errs = append(errs, e.fs.Remove(filepath.Join(e.dir, run.Name(t.Number))))
		}
	}
	return errors.Join(errs...)
}

// removeObsolete unlinks what an installed edit replaced. Readers of older superversions may still
// need the tables: they are open by then, and stay readable. The caller holds e.installing.
func (e *Engine) removeObsolete(edit *manifest.Edit, old *superversion.Levels, logNumber uint64) {
	for _, number := range edit.Remove {
		if h, ok := old.Handle(number); ok {
			if err := h.Table.Open(); err != nil {
				e.options.Logger.Warn("open obsolete table", "err", err)
			}
		}
		e.removeFile(run.Name(number))
	}
	for len(e.logs) > 0 && e.logs[0] < logNumber {
		e.removeFile(wal.Name(e.logs[0]))
		e.logs = e.logs[1:]
	}
}

// removeFile unlinks a file that nothing refers to. A failure costs disk space until the database
// is opened again, no more.
func (e *Engine) removeFile(name string) {
	if err := e.fs.Remove(filepath.Join(e.dir, name)); err != nil {
		e.options.Logger.Warn("remove obsolete file", "dir", e.dir, "file", name, "err", err)
	}
}

// create starts an empty database in e.dir, which exists and is locked.
func (e *Engine) create(identity [16]byte) error {
	e.database = identity
	number := e.nextNumber()
	version := &manifest.Version{NextNumber: number + 1}
	journal, err := manifest.Create(e.fs, e.dir, number, identity, version)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	e.journal, e.journalAt = journal, number
	e.publishRecovered(version, nil)
	return nil
}

// publishRecovered makes the first state.
func (e *Engine) publishRecovered(version *manifest.Version, full []sealed) {
	s := &superversion.Superversion{Levels: superversion.NewLevels(version, nil, e.openTable)}
	for _, f := range full {
		s.Sealed = append([]memtable.Root{f.root}, s.Sealed...)
	}
	e.sealed = full
	e.state.Store(s)
	e.current.Store(s)
}
