package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
)

// standing says how far the files can be relied on. It becomes durable once, before anything is
// built on them. A read-only engine does not use it.
type standing uint8

const (
	durable     standing = iota // what the manifest says survives a power cut
	blank                       // nothing of the database is on disk
	unconfirmed                 // the manifest was read, and may not be durable
)

// ensureOnDiskAsWriter writes the first files of a new database, or makes durable what was read of
// an existing one.
func (e *Engine) ensureOnDiskAsWriter() error {
	switch e.writer.standing {
	case blank:
		return e.establishAsWriter()
	case unconfirmed:
		return e.confirmAsWriter()
	}
	return nil
}

// ensureIdentity is ensureOnDiskAsWriter for a backup: otherwise the database could get another
// identity than its backup. A poisoned database is backed up as readers see it.
func (e *Engine) ensureIdentity(ctx context.Context) error {
	if e.options.ReadOnly || e.options.Volatile {
		return nil
	}
	if err := e.writer.lock(ctx, heldByJob); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer e.writer.unlock()
	if err := e.writable(); errors.Is(err, ErrPoisoned) && e.writer.standing != blank {
		return nil
	} else if err != nil {
		return err
	}
	return e.ensureOnDiskAsWriter()
}

// establishAsWriter writes the first files of a new database when its first transaction begins, so
// that only opening one waits for no sync. The name of the log becomes durable together with that
// of the manifest, so the first commit need not sync the folder.
func (e *Engine) establishAsWriter() error {
	e.appending.Lock()
	defer e.appending.Unlock()
	if err := e.writable(); err != nil { // Close may have come first
		return err
	}
	if e.commits.NeedsLog() {
		if err := e.startLogAppending(); err != nil {
			return err
		}
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	old := e.state.Load().Levels
	version := *old.Version
	if err := e.startManifestInstalling(&version); err != nil {
		if errors.Is(err, manifest.ErrUnchanged) {
			return err
		}
		return e.poison(err)
	}
	levels := superversion.NewLevels(&version, old, e.opener())
	e.mu.Lock()
	e.publishLocked(func(next *superversion.Superversion) { next.Levels = levels })
	e.mu.Unlock()
	e.commits.LogNameIsDurable()
	e.writer.standing = durable
	return nil
}

// confirmAsWriter makes the manifest durable that was read when the database was opened: a killed
// process may have written it, or its last edit, and never synced it. If the database had been
// closed, this waits for the first transaction that may write, and opening needs no sync. Otherwise
// opening did it, before anybody saw the manifest and before files were removed. It also removes
// the mark of an unfinished backup.
func (e *Engine) confirmAsWriter() error {
	e.installing.Lock()
	defer e.installing.Unlock()
	if e.installing.journal == nil { // else a newer one is durable
		err := e.syncManifest(e.installing.journalAt)
		if errors.Is(err, manifest.ErrUnchanged) {
			return err
		}
		if err != nil {
			return e.poison(err) // or the next transaction would sync again
		}
	}
	if e.writer.standing = durable; e.writer.marked {
		e.removeFileInstalling(folder.UnfinishedName)
	}
	return nil
}
