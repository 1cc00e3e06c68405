package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/tools/check"
	"github.com/stoatdb/stoat/internal/vfs"
)

// BackupTo writes everything committed so far to w, as one stream that Restore makes a database of.
// Of later commits it may include some, each completely and in order. Each table is verified before
// it is written. After an error, what was written is not a backup. Close cancels it and does not
// wait for it, because w may block.
//
// A read-only engine, or one that cannot flush, writes what it has in memory to tables in scratch,
// an empty file system. If a writer has replaced a file of a read-only engine, the error matches
// fs.ErrNotExist. The stream is encrypted by seal, unless that is nil.
func (e *Engine) BackupTo(
	ctx context.Context, w io.Writer, scratch vfs.FS, seal backup.Sealing,
) error {
	return e.withFrozen(ctx, false, func(ctx context.Context, p frozen) error {
		err := e.streamTo(ctx, p, w, scratch, seal)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		}
		return fmt.Errorf("back up %s to a stream: %w", e.dir, err)
	})
}

// streamTo writes what is frozen to w.
func (e *Engine) streamTo(
	ctx context.Context, p frozen, w io.Writer, scratch vfs.FS, seal backup.Sealing,
) (err error) {
	if err := scratch.MkdirAll(e.dir); err != nil {
		return err
	}
	next := p.version.NextNumber
	if len(p.memory) > 0 {
		next += backupGap
	}
	number := func() uint64 {
		next++
		return next - 1
	}
	files := layered{Folder: e.folder, scratch: scratch}
	o := e.copyOptions()
	copied := newEngine(o, recovered{
		store: newStore(directory{files, e.dir}, e.database, o), levels: p.levels,
	})
	if err := e.addMemory(ctx, copied, p, number); err != nil {
		return err
	}
	snapshot := copied.state.Load()
	s, err := backup.NewStream(w, backup.Source{
		Folder: files, Dir: e.dir, Database: e.database, Version: snapshot.Levels.Version,
		LastCommit: p.lastCommit, MayVanish: e.options.ReadOnly, Seal: seal,
	}, &e.backups)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var found check.Findings
	config := check.Config{
		Snapshot: snapshot, Dir: e.dir, Manifest: e.manifestPath(p.manifest),
		Table: copied.tablePath, Values: copied.valuePath, Read: func(uint64) {},
		Verified: func(t *manifest.Table) error {
			if err := found.Err(); err != nil {
				return err
			}
			return s.Table(ctx, t)
		},
	}
	if err = check.Deep(ctx, config, &found); err == nil {
		err = found.Err()
	}
	if errors.Is(err, corrupt.Err) {
		return fmt.Errorf("verify what is to be copied: %w; see \"stoat check %s\"", err, e.dir)
	}
	if err != nil {
		return err
	}
	return s.Commit(ctx, number())
}

// layered is a folder in which all writes go to a file system that lies above it.
type layered struct {
	vfs.Folder
	scratch vfs.FS
}

// Create implements vfs.Files.
func (l layered) Create(name string) (vfs.File, error) { return l.scratch.Create(name) }

// Open implements vfs.Files.
func (l layered) Open(name string) (vfs.File, error) {
	file, err := l.scratch.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return l.Folder.Open(name)
	}
	return file, err
}

// Remove implements vfs.Files.
func (l layered) Remove(name string) error { return l.scratch.Remove(name) }

// SyncDir implements vfs.Files.
func (l layered) SyncDir(dir string) error { return l.scratch.SyncDir(dir) }

// Restore makes dir, a folder that is missing or empty, a database from what BackupTo wrote. All of
// it is read and verified first; after an error the folder has nothing that opens. Opening decrypts
// the stream; nil if it is not encrypted.
func Restore(
	ctx context.Context, r io.Reader, target vfs.FS, dir string, opening backup.Opening,
) (err error) {
	folder, err := backup.BeginEmpty(target, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	state, err := folder.Receive(ctx, r, opening)
	if err != nil {
		return err
	}
	e := newReceived(folder, dir, state.Database, state.Version)
	return e.commitReceived(ctx, folder, state.Version)
}
