package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// Open opens the database in dir, creating it if dir is missing or empty. What is in the log goes
// into sealed memtables, which are flushed in the background. A folder that is not a database, or
// a damaged one, is left as it is.
func Open(files vfs.FS, dir string, o Options) (*Engine, error) {
	if dir == "" {
		return nil, fmt.Errorf("no folder is named; \".\" is the current one: %w", fs.ErrInvalid)
	}
	e := newEngine(dir, o.withDefaults())
	open := e.openWritable
	if o.ReadOnly {
		open = e.openReadOnly
	}
	if err := open(files); err != nil {
		return nil, errors.Join(err, e.abandonOpen())
	}
	if o.ReadOnly {
		return e, nil
	}
	e.mu.Lock()
	e.balanceLocked()
	e.mu.Unlock()
	e.startJobs()
	return e, nil
}

func (e *Engine) openWritable(files vfs.FS) error {
	if err := e.takeFolder(files); err != nil {
		return err
	}
	found, err := survey(e.folder, e.dir)
	if err != nil {
		return err
	}
	if err := e.load(found); err != nil {
		return err
	}
	return e.lock.Announce()
}

// abandonOpen lets go of what a failed open has taken.
func (e *Engine) abandonOpen() error {
	var errs []error
	if e.installing.journal != nil {
		errs = append(errs, e.installing.journal.Close())
	}
	return errors.Join(append(errs, e.leaveFolder())...)
}

// load reads the manifest and the log of a locked folder, or makes a new database in it.
func (e *Engine) load(found files) error {
	e.numbers.Store(found.highest + 1)
	state, err := e.loadManifest(found)
	if err != nil {
		return e.tellCopy(err, found)
	}
	if state == nil {
		return e.create(found)
	}
	if err := e.wantFiles(state.Version, found); err != nil {
		return err
	}
	if err := e.wantEnd(state, found); err != nil {
		return err
	}
	if err := e.setBranch(state.Version); err != nil {
		return err
	}
	e.installing.journalAt, e.installing.edits = state.Number, state.Edits
	if state.Torn {
		e.installing.edits++
	}
	version, full, err := e.replay(state, found.logs)
	if err != nil {
		return err
	}
	if err := e.makeDurable(full); err != nil {
		return err
	}
	e.writer.standing, e.writer.marked = unconfirmed, found.marked
	orphans := e.orphans(version, found, full)
	if state.Edits > 0 || state.Torn || len(full) > 0 || len(orphans) > 0 {
		if err := e.confirm(); err != nil {
			return err
		}
	}
	e.publishRecovered(version, full)
	for _, name := range orphans {
		e.removeFile(name)
	}
	return nil
}

// publishRecovered makes the first state.
func (e *Engine) publishRecovered(version *manifest.Version, full []sealed) {
	s := &superversion.Superversion{
		Levels: superversion.NewLevels(version, nil, e.opener()), Commit: e.commits.Newest(),
	}
	for _, f := range full {
		s.Sealed = append([]memtable.Root{f.root}, s.Sealed...)
	}
	e.mu.sealed = full
	e.state.Store(s)
	e.current.Store(s)
}

// loadManifest reads the manifest of a folder. It returns nil for a folder without one if that is
// empty, but for the first files of a new database, which a crash has cut off.
func (e *Engine) loadManifest(found files) (*manifest.State, error) {
	state, err := manifest.LoadAmong(e.folder, e.dir, found.manifests)
	if !errors.Is(err, fs.ErrNotExist) {
		return state, err
	}
	data, err := e.hasData(found)
	switch {
	case err != nil:
		return nil, err
	case found.foreign != "" && data:
		return nil, fmt.Errorf("the folder holds %q: %w; if it was a database, %w", found.foreign,
			corrupt.ErrFormat, corrupt.New(e.dir, 0, "it has no manifest: run stoat salvage"))
	case found.foreign != "":
		return nil, fmt.Errorf("the folder holds %q and no Stoat database; "+
			"choose an empty folder: %w", found.foreign, corrupt.ErrFormat)
	case data && len(found.manifests) > 0:
		last := manifest.Name(found.manifests[len(found.manifests)-1])
		return nil, corrupt.New(filepath.Join(e.dir, last), 0, "the manifest is cut off, and the folder "+
			"has data; restore the file, or run: stoat salvage")
	case data:
		return nil, corrupt.New(e.dir, 0, "the folder has data and no manifest; "+
			"restore the file MANIFEST-*, or run: stoat salvage")
	}
	return nil, nil
}

// tellCopy adds to the error of a manifest that is damaged or missing that its copy can be read.
// Nothing is built on the copy, whose end may be missing: edits are not synced there, and one that
// only deletes leaves no other trace.
func (e *Engine) tellCopy(err error, found files) error {
	if !errors.Is(err, corrupt.Err) {
		return err
	}
	copied, copyErr := manifest.LoadCopy(e.folder, e.dir)
	if n := len(found.manifests); copyErr != nil || n > 0 && copied.Number < found.manifests[n-1] {
		return err
	}
	return fmt.Errorf("%w; its copy %s is there, but may lack the newest changes: to look at what it "+
		"has, open the database read-only, and to write to it again, salvage it or restore a backup",
		err, manifest.CopyName(copied.Number))
}

// hasData reports whether a folder without a manifest holds more than establish writes before that
// is durable.
func (e *Engine) hasData(found files) (bool, error) {
	if len(found.tables)+len(found.values) > 0 {
		return true, nil
	}
	for _, number := range found.logs {
		if blank, err := wal.Blank(e.folder, e.dir, number); err != nil || !blank {
			return true, err
		}
	}
	return false, nil
}

// wantEnd returns an error if the manifest lacks its end. Only then are there files that it does
// not name, unless a crash has left them; the copy, which is written later, tells which it is.
func (e *Engine) wantEnd(state *manifest.State, found files) error {
	if !state.Torn && !surplus(state.Version, found) {
		return nil
	}
	more, err := manifest.CopyGoesOn(e.folder, e.dir, state)
	if err != nil || !more {
		return err
	}
	return corrupt.New(filepath.Join(e.dir, manifest.Name(state.Number)), state.End,
		"its copy goes on behind its end; run: stoat salvage")
}

// wantFiles returns an error if a table or a value file of the manifest is missing.
func (e *Engine) wantFiles(version *manifest.Version, found files) error {
	for t := range version.Tables() {
		if _, ok := slices.BinarySearch(found.tables, t.Number); !ok {
			return missing(e.tablePath(t))
		}
	}
	for _, f := range version.ValueFiles {
		among := found.values
		if f.Log {
			among = found.logs
		}
		if _, ok := slices.BinarySearch(among, f.Number); !ok {
			return missing(e.valuePath(f))
		}
	}
	return nil
}

// missing returns the error of a file that the manifest names and that is not there.
func missing(path string) error {
	return corrupt.New(path, 0, "the file is missing; restore it from a copy")
}

// replay reads the log segments that the manifest does not cover, each into a sealed memtable.
func (e *Engine) replay(state *manifest.State, logs []uint64) (*manifest.Version, []sealed, error) {
	e.database = state.Database
	version := state.Version
	e.numbers.Store(max(e.numbers.Load(), version.NextNumber))
	last := version.LastCommit
	below := &superversion.Superversion{Levels: superversion.NewLevels(version, nil, e.opener())}
	var full []sealed
	for _, number := range logs {
		if number < version.LogNumber {
			continue
		}
		table := memtable.New(wal.HeaderBytes)
		var root memtable.Root
		apply := func(_ uint64, payloads []wal.Payload) (err error) {
			root, err = applyCommit(table, below, payloads)
			return err
		}
		var err error
		last, err = wal.Replay(e.folder, e.dir, number, e.database, last, apply)
		if err != nil {
			return nil, nil, err
		}
		if !root.Empty() {
			f := sealed{root: root, bytes: table.Bytes(), log: number, lastCommit: last}
			if f.logBytes, err = e.fileSize(wal.Name(number)); err != nil {
				return nil, nil, err
			}
			full = append(full, f)
			below.Sealed = slices.Insert(below.Sealed, 0, root)
		}
	}
	e.commits.Skip(last)
	return version, full, nil
}

func (e *Engine) fileSize(name string) (int64, error) {
	file, err := e.folder.Open(filepath.Join(e.dir, name))
	if err != nil {
		return 0, err
	}
	size, err := file.Size()
	return size, errors.Join(err, file.Close())
}

// applyCommit puts one commit's entries into a memtable.
func applyCommit(
	table *memtable.Memtable, below memtable.Below, payloads []wal.Payload,
) (memtable.Root, error) {
	edit := table.BeginOver(below)
	for _, payload := range payloads {
		if err := edit.Replay(payload.Bytes, payload.At); err != nil {
			edit.Rollback()
			return memtable.Root{}, err
		}
	}
	return edit.Commit(), nil
}

// makeDurable syncs the replayed log segments: they may hold commits that a killed process wrote
// but never synced, and what is built on them must not outlive them.
func (e *Engine) makeDurable(full []sealed) error {
	for _, f := range full {
		file, err := e.folder.Open(filepath.Join(e.dir, wal.Name(f.log)))
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return fmt.Errorf("sync recovered log %06d: %w", f.log, err)
		}
		e.installing.logs = append(e.installing.logs, f.log)
	}
	if len(full) == 0 {
		return nil
	}
	return e.folder.SyncDir(e.dir)
}

// orphans returns the names of what a crash has left behind: files that no manifest refers to.
func (e *Engine) orphans(version *manifest.Version, found files, full []sealed) (names []string) {
	live := make(map[uint64]bool)
	for t := range version.Tables() {
		live[t.Number] = true
	}
	for _, f := range version.ValueFiles {
		live[f.Number] = true
	}
	for _, f := range full {
		live[f.log] = true
	}
	live[e.installing.journalAt] = true
	for _, kind := range []struct {
		numbers []uint64
		name    func(uint64) string
	}{
		{found.tables, run.Name}, {found.values, valuelog.Name}, {found.logs, wal.Name},
		{found.manifests, manifest.Name}, {found.copies, manifest.CopyName},
	} {
		for _, number := range kind.numbers {
			if !live[number] {
				names = append(names, kind.name(number))
			}
		}
	}
	return names
}

func (e *Engine) removeAll(numbers []uint64, name func(uint64) string) {
	for _, number := range numbers {
		e.removeFile(name(number))
	}
}
