package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/wal"
)

// standing is how far what is on disk can be relied on. It only ever becomes durable, once, before
// anything is built on what is there. A read-only engine never asks for it.
type standing uint8

const (
	durable     standing = iota // what the manifest says survives a power cut
	blank                       // nothing of the database is on disk
	unconfirmed                 // the manifest was read, and may not be durable
)

// ensureOnDisk puts a new database on disk, and makes durable what was read of one that was there.
// The caller holds the writer lock.
func (e *Engine) ensureOnDisk() error {
	switch e.writer.standing {
	case blank:
		return e.establish()
	case unconfirmed:
		return e.confirm()
	}
	return nil
}

// ensureIdentity is ensureOnDisk for a backup, so that the database does not get another identity
// than its backup has. One that is poisoned is backed up as readers see it.
func (e *Engine) ensureIdentity(ctx context.Context) error {
	if e.options.ReadOnly || e.options.Volatile {
		return nil
	}
	if err := e.writer.lock(ctx, e.stop, heldToFlush); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer e.writer.unlock()
	if err := e.writable(); errors.Is(err, ErrPoisoned) && e.writer.standing != blank {
		return nil
	} else if err != nil {
		return err
	}
	return e.ensureOnDisk()
}

// create starts an empty database in e.dir, which is locked and holds nothing but what a crash cut
// off in the midst of establish. The log number keeps a log segment of that from being replayed,
// should it stay or come back. The database is in memory only until establish.
func (e *Engine) create(found files) (err error) {
	if e.database, err = NewIdentity(); err != nil {
		return err
	}
	if e.branch, err = NewBranch(); err != nil {
		return err
	}
	e.writer.standing = blank
	e.publishRecovered(&manifest.Version{Branch: e.branch, LogNumber: e.numbers.Load()}, nil)
	e.removeAll(found.logs, wal.Name)
	e.removeAll(found.manifests, manifest.Name)
	e.removeAll(found.copies, manifest.CopyName)
	return nil
}

// establish writes the first files of a new database, when its first transaction begins: who only
// opens one waits for no sync. The name of the log becomes durable together with that of the
// manifest, so the first commit need not see to it. The caller holds the writer lock.
func (e *Engine) establish() error {
	e.turn.Lock()
	defer e.turn.Unlock()
	if err := e.writable(); err != nil { // Close may have come first
		return err
	}
	if !e.commits.Started() {
		if err := e.startLogInTurn(); err != nil {
			return err
		}
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	old := e.state.Load().Levels
	version := *old.Version
	if err := e.startManifest(&version); err != nil {
		if errors.Is(err, manifest.ErrUnchanged) {
			return err
		}
		return e.poison(err)
	}
	levels := superversion.NewLevels(&version, old, e.opener())
	e.mu.Lock()
	e.publishLocked(func(next *superversion.Superversion) { next.Levels = levels })
	e.mu.Unlock()
	e.commits.Named()
	e.writer.standing = durable
	return nil
}

// confirm makes the manifest durable that was read when the database was opened: a killed process
// may have written it, or its last edit, and never synced it. Who opens a database that was closed
// has it done by the first transaction that may write, and waits for no sync before; else it comes
// before anybody sees what it says, and before files are removed that it does not name. The mark of
// an unfinished backup, which this is not any more, goes then. The caller holds the writer lock, or
// is alone.
func (e *Engine) confirm() error {
	e.installing.Lock()
	defer e.installing.Unlock()
	if e.installing.journal == nil { // else a newer one is durable
		if err := e.syncManifest(); err != nil {
			return err
		}
	}
	if e.writer.standing = durable; e.writer.marked {
		e.removeFile(backup.Unfinished)
	}
	return nil
}

// syncManifest syncs the manifest that was read, and the names of all files.
func (e *Engine) syncManifest() error {
	name := manifest.Name(e.installing.journalAt)
	file, err := e.folder.Open(filepath.Join(e.dir, name))
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	if err := errors.Join(file.Sync(), file.Close(), e.folder.SyncDir(e.dir)); err != nil {
		err = fmt.Errorf("sync %s: %w", name, err)
		if e.state.Load() == nil { // Open fails
			return err
		}
		return e.poison(err) // or the next transaction would sync again
	}
	return nil
}
