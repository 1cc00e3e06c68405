package engine

import (
	"context"
	"errors"
	"fmt"

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
	// Fetch fills a new file with one that the version names.
	Fetch backup.Fetch
	// Commits calls apply with the payload of each commit above the last one in the version, in
	// their order. The payload must not change.
	Commits func(apply func(commit uint64, payload []byte) error) error
}

// Rebuild makes dir, a folder that is missing or empty, a database of its parts. All of it is
// verified before it counts; after an error the folder has nothing that opens, and may be used
// again. The database gets another branch when it is opened.
func Rebuild(ctx context.Context, target vfs.FS, dir string, p Parts) (err error) {
	folder, err := backup.BeginEmpty(target, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if err := folder.Assemble(ctx, p.Database, p.Version, p.Fetch); err != nil {
		return err
	}
	state := &manifest.State{Database: p.Database, Version: p.Version}
	e := newReceived(folder, dir, state)
	last, err := e.applyAll(ctx, folder, p.Commits)
	if err != nil {
		return err
	}
	version := *e.state.Load().Levels.Version
	version.LastCommit = max(version.LastCommit, last)
	return e.commitReceived(ctx, folder, &version)
}

// newReceived returns an engine for reading a folder whose files were received, and for adding to
// them.
func newReceived(folder *backup.Folder, dir string, state *manifest.State) *Engine {
	o := Options{ReadOnly: true, MemoryLimit: backupMemory}.withDefaults()
	s := recovered{store: newStore(directory{folder.Files(), dir}, state.Database, o)}
	s.levels = s.levelsOf(state.Version)
	return newEngine(o, s)
}

// commitReceived verifies all files and makes the folder a database that consists of them.
func (e *Engine) commitReceived(
	ctx context.Context, folder *backup.Folder, version *manifest.Version,
) error {
	if err := e.Check(ctx, true); err != nil {
		return fmt.Errorf("verify what was restored: %w", err)
	}
	if err := folder.Commit(version); err != nil {
		return err
	}
	_ = folder.Tidy() // the folder is a database, whatever is left in it
	return nil
}

// applyAll writes commits to tables, and returns the last one; 0 if there is none.
func (e *Engine) applyAll(
	ctx context.Context, folder *backup.Folder,
	commits func(apply func(commit uint64, payload []byte) error) error,
) (last uint64, err error) {
	mem := newMemtable()
	var root memtable.Root
	flush := func() error {
		p := frozen{memory: []memtable.Root{root}, lastCommit: last}
		mem, root = newMemtable(), memtable.Root{}
		return e.addMemory(ctx, e, p, folder.NextNumber)
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
