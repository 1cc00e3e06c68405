package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// Parts is what a database can be made of: the files of a version, and later commits.
type Parts struct {
	Database [16]byte
	Version  *manifest.Version
	// Fetch writes pieces of the files that the version names.
	Fetch backup.Fetch
	// Commits calls apply with the payload of each commit above the last one in the version, in
	// their order. The payload must not change.
	Commits func(apply func(commit uint64, payload []byte) error) error
}

// Rebuild makes dir, a folder that is missing or empty, a database of its parts. All of it is
// verified before it counts; after an error the folder has nothing that opens, and may be used
// again. The database gets another branch when it is opened.
func Rebuild(ctx context.Context, target vfs.FS, dir string, p Parts) (err error) {
	to, err := backup.BeginEmpty(target, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := to.Adopt(p.Database, p.Version); err != nil {
		return err
	}
	e := newReceived(to, dir, p.Database, p.Version)
	verified, err := e.receive(ctx, to, p.Fetch)
	if err != nil {
		return err
	}
	defer verified.close()
	last, err := e.applyAll(ctx, to, p.Commits)
	if err != nil {
		return err
	}
	if err := verified.finish(ctx); err != nil {
		return err
	}
	version := *e.state.Load().Levels.Version
	version.LastCommit = max(version.LastCommit, last)
	return e.commitVerified(to, &version)
}

// newReceived returns an engine for reading a folder whose files were received, and for adding to
// them.
func newReceived(
	from *backup.Folder, dir string, database [16]byte, version *manifest.Version,
) *Engine {
	o := Options{ReadOnly: true, MemoryLimit: backupMemory}.withDefaults()
	s := recovered{store: newStore(directory{from.Files(), dir}, database, o)}
	s.levels = s.levelsOf(version)
	return newEngine(o, s)
}

// commitReceived verifies all files and makes the folder a database that consists of them.
func (e *Engine) commitReceived(
	ctx context.Context, to *backup.Folder, version *manifest.Version,
) error {
	if err := e.Check(ctx, true); err != nil {
		return unverified(err)
	}
	return e.commitVerified(to, version)
}

// unverified returns the error of a restore of what is damaged; nil if it is not.
func unverified(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("verify what was restored: %w", err)
}

// commitVerified makes a folder with verified files a database that consists of them.
func (e *Engine) commitVerified(to *backup.Folder, version *manifest.Version) error {
	if err := to.Commit(version); err != nil {
		return err
	}
	_ = to.Tidy() // the folder is a database, whatever is left in it
	return nil
}

// applyAll writes commits to tables, and returns the last one; 0 if there is none.
func (e *Engine) applyAll(
	ctx context.Context, to *backup.Folder,
	commits func(apply func(commit uint64, payload []byte) error) error,
) (last uint64, err error) {
	mem := newMemtable()
	var root memtable.Root
	flush := func() error {
		p := frozen{memory: []memtable.Root{root}, lastCommit: last}
		mem, root = newMemtable(), memtable.Root{}
		return e.addMemory(ctx, e, p, to.NextNumber)
	}
	err = commits(func(commit uint64, payload []byte) (err error) {
		root, err = applyCommit(mem, e.state.Load(), []wal.Payload{{Bytes: payload}})
		if last = commit; err != nil || mem.Bytes() < e.options.Tuning.MemtableBytes {
			return err
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return last, err
}

// IsVacant reports whether a folder is [Vacant], without changing anything: it is missing or empty,
// or holds no more than what a [Rebuild] or a first backup that did not end has left.
func IsVacant(files vfs.FS, dir string) (bool, error) {
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	found, err := survey(files, dir)
	if err != nil || !found.Unfinished {
		return false, err
	}
	_, err = manifest.LoadAmong(files, dir, found.Of(folder.Manifest))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, corrupt.Err) {
		return true, nil
	}
	return false, err
}
