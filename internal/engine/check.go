package engine

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/tools/check"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// Check verifies the database as it is now: first the folder and the manifest, then, while others
// read and write, what the files say about themselves. If deep, it reads everything in them and in
// the log instead. It returns all problems joined, each a corrupt.Error. It stops soon after ctx
// ends and returns the reason.
func (e *Engine) Check(ctx context.Context, deep bool) error {
	e.readers.add(0, 1)
	defer e.Release(0)
	var found check.Findings
	p, err := e.inspect(&found)
	if err != nil {
		return err
	}
	config := e.checkConfig(p.snapshot, p.manifest)
	if deep {
		err = e.checkLogs(ctx, p, &found)
	}
	p.close()
	switch {
	case err != nil:
	case deep:
		err = check.Deep(ctx, config, &found)
	default:
		err = check.Quick(ctx, config, &found)
	}
	if err != nil {
		return err
	}
	return found.Err()
}

// checkConfig says that a check is of a snapshot, which a manifest says.
func (e *Engine) checkConfig(snapshot *superversion.Superversion, manifest uint64) check.Config {
	return check.Config{
		Snapshot: snapshot, Dir: e.dir, Manifest: e.manifestPath(manifest),
		Table: e.tablePath, Values: e.valuePath,
		Read: func(bytes uint64) { e.checked.Add(bytes) },
	}
}

// picture is what a check looks at: one state, and the log segments that recovery would replay.
type picture struct {
	snapshot *superversion.Superversion
	manifest uint64 // the number of the manifest's file
	active   uint64 // that of the active log segment, or 0
	logs     []openLog
}

// openLog is a log segment that stays readable when it is removed.
type openLog struct {
	wal.Extent
	file vfs.File
}

// close closes the log segments. They were only read, so an error does not matter.
func (p *picture) close() {
	for _, log := range p.logs {
		_ = log.file.Close()
	}
}

// inspect verifies the manifest and that the folder holds the files that it should, and returns
// what else there is to verify. Edits wait meanwhile, and commits until the state is taken.
func (e *Engine) inspect(found *check.Findings) (picture, error) {
	e.evicting.Lock() // so no file is removed that is named
	defer e.evicting.Unlock()
	handedOut := e.numbers.Load()
	e.appending.Lock()
	e.installing.Lock()
	defer e.installing.Unlock()
	p, idle, err := e.captureInstalling(found)
	e.appending.Unlock()
	if err != nil {
		return p, err
	}
	dir, err := survey(e.folder, e.dir)
	if err != nil {
		p.close()
		return p, err
	}
	version := p.snapshot.Levels.Version
	if p.manifest != 0 { // 0: nobody has written to the database
		e.checkManifestsInstalling(version, found)
	}
	e.checkNamed(version, dir, found)
	// Another process may write to the folder of a read-only database. After a failed write of the
	// manifest it is unknown which files that names.
	if !e.options.ReadOnly && e.poisoned.Load() == nil {
		if !idle {
			handedOut = 0 // any file that is not installed may be in the making
		}
		e.checkStrayInstalling(p, dir, handedOut, found)
	}
	return p, nil
}

// captureInstalling takes the state and opens the log segments. The caller also holds appending.
// idle says that no file was in the making then.
func (e *Engine) captureInstalling(found *check.Findings) (p picture, idle bool, err error) {
	idle = !e.writer.isHeld()
	e.mu.Lock()
	p = picture{
		snapshot: e.checkable(), manifest: e.installing.journalAt, active: e.appending.logNumber,
	}
	full := slices.Clone(e.mu.sealed)
	idle = idle && !e.mu.flushing && !e.mu.compacting
	closed := e.closed.Load()
	e.mu.Unlock()
	if closed {
		return p, false, ErrClosed
	}
	for _, f := range full {
		if f.log != 0 {
			e.openLog(&p, f.log, f.logBytes, f.lastCommit, found)
		}
	}
	if size, through, ok := e.commits.Written(); ok {
		e.openLog(&p, p.active, size, through, found)
	}
	return p, idle, nil
}

// checkable returns the state without what a check would take for damage: the tables of a replica
// may be newer than a part of its memtables, and have forgotten buckets of which these hold keys.
func (e *Engine) checkable() *superversion.Superversion {
	state := e.state.Load()
	if e.options.ReadOnly && e.options.Volatile {
		return &superversion.Superversion{Levels: state.Levels, Commit: state.Commit}
	}
	return state
}

// openLog opens a log segment for the check. A read-only database has read it completely, and the
// process that writes may have removed it since.
func (e *Engine) openLog(
	p *picture, number uint64, size int64, through uint64, found *check.Findings,
) {
	path := filepath.Join(e.dir, folder.Log.Name(number))
	file, err := e.folder.Open(path)
	switch {
	case err == nil:
		p.logs = append(p.logs, openLog{wal.Extent{
			Path: path, Number: number, Database: e.database, Size: size, Through: through,
		}, file})
	case !errors.Is(err, fs.ErrNotExist):
		found.Lose(path, err)
	case !e.options.ReadOnly:
		found.Lose(path, corrupt.Missing(path, ""))
	}
}

func (e *Engine) checkLogs(ctx context.Context, p picture, found *check.Findings) error {
	for _, log := range p.logs {
		err := wal.Verify(log.file, log.Extent, func(bytes uint64) error {
			e.checked.Add(bytes)
			return ctx.Err()
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			found.Add(log.Path, err)
		}
	}
	return nil
}

func (e *Engine) checkManifestsInstalling(version *manifest.Version, found *check.Findings) {
	if e.installing.copied != nil {
		found.Lose(e.manifestPath(e.installing.journalAt), e.installing.copied)
	}
	before := found.Len()
	e.checkManifestInstalling(version, found)
	if found.Len() > before || e.options.ReadOnly { // then somebody may append to both
		return
	}
	if err := manifest.CheckCopy(e.folder, e.dir, e.installing.journalAt); err != nil {
		found.Lose(filepath.Join(e.dir, folder.ManifestCopy.Name(e.installing.journalAt)), err)
	}
}

// checkManifestInstalling verifies that the manifest says version. If the database is read-only,
// the manifest may have been replaced since it was read.
func (e *Engine) checkManifestInstalling(version *manifest.Version, found *check.Findings) {
	name := folder.Manifest.Name(e.installing.journalAt)
	path := filepath.Join(e.dir, name)
	load := func() (*manifest.State, error) {
		return manifest.LoadFile(e.folder, e.dir, name, e.installing.journalAt)
	}
	state, err := load()
	for n := 0; n < openRetries && e.options.ReadOnly && errors.Is(err, corrupt.Err); n++ {
		state, err = load() // another process may have been writing it
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !e.options.ReadOnly {
			found.Lose(path, corrupt.Missing(path, ""))
		}
	case err != nil:
		found.Lose(path, err)
	case e.options.ReadOnly || e.poisoned.Load() != nil: // it may say more
	case state.Database != e.database:
		found.Lose(path, corrupt.New(path, 0, "it is of another database"))
	case !state.Version.Equal(version):
		found.Lose(path, corrupt.New(path, 0, "it says something else than what is in use"))
	}
}
