package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// backupGap is how far the numbers of tables that only a backup has lie above those of the
	// database, which does not reach them before the next backup.
	backupGap = 10_000_000
	// backupMemory is the memory limit of the engine that verifies a backup.
	backupMemory = 16 << 20
)

// Backup makes dir, a folder of the file system target, a database with everything committed so
// far: a new one, or the earlier backup that it holds, brought up to date. What is committed
// meanwhile is in the backup wholly or not at all, in order. All of it is read and verified before
// it counts; after an error the earlier backup does, unless writing the new manifest failed: then
// either may. With link, files are not copied where they can get a second name instead, and only
// opened to verify them.
//
// A read-only engine, and one that cannot flush, writes what it has in memory into tables of the
// backup. If a file of a read-only one is gone, because a writer has replaced it, the error matches
// fs.ErrNotExist.
func (e *Engine) Backup(ctx context.Context, target vfs.FS, dir string, link bool) error {
	return e.withFrozen(ctx, true, func(ctx context.Context, p frozen) error {
		if err := e.backup(ctx, p, target, dir, link); err != nil {
			return fmt.Errorf("back up %s to %s: %w", e.dir, dir, err)
		}
		return nil
	})
}

// withFrozen calls fn with everything committed so far, which stays readable meanwhile. Close
// cancels its context. If closeWaits, Close also waits for fn; otherwise the folder may belong to
// another process after that.
func (e *Engine) withFrozen(
	ctx context.Context, closeWaits bool, fn func(ctx context.Context, p frozen) error,
) error {
	if err := e.ensureIdentity(ctx); err != nil {
		return err
	}
	err := e.flush(ctx)
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrDeadlock) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	unflushed := err != nil
	if unflushed && !errors.Is(err, ErrReadOnly) {
		e.options.Logger.Warn("flush for a backup", "dir", e.dir, "err", err)
	}
	ctx, done, err := e.startBackup(ctx, closeWaits)
	if err != nil {
		return err
	}
	defer done()
	p, unpin := e.freeze(unflushed)
	defer unpin()
	return fn(ctx, p)
}

// startBackup returns a context that Close cancels. If closeWaits, Close waits until done is
// called.
func (e *Engine) startBackup(
	ctx context.Context, closeWaits bool,
) (inner context.Context, done func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return nil, nil, ErrClosed
	}
	inner, cancel := context.WithCancelCause(ctx)
	e.jobs.Go(func() {
		select {
		case <-e.stop:
			cancel(ErrClosed)
		case <-inner.Done():
		}
	})
	if !closeWaits {
		return inner, func() { cancel(nil) }, nil
	}
	e.jobs.Add(1)
	return inner, func() {
		cancel(nil)
		e.jobs.Done()
	}, nil
}

// frozen is what is backed up.
type frozen struct {
	version    *manifest.Version    // its files are not removed
	levels     *superversion.Levels // of that version
	memory     []memtable.Root      // the memtables, oldest first
	manifest   uint64               // the number of the manifest's file
	lastCommit uint64               // the newest commit in both
}

// freeze returns what is committed, with or without what is in memory. Its files are not removed
// until unpin is called.
func (e *Engine) freeze(memory bool) (p frozen, unpin func()) {
	e.installing.Lock()
	defer e.installing.Unlock()
	state := e.state.Load()
	p.levels, p.version, p.manifest = state.Levels, state.Levels.Version, e.installing.journalAt
	p.lastCommit = p.version.LastCommit
	if memory {
		p.memory = append(slices.Clone(state.Sealed), state.Mem)
		slices.Reverse(p.memory[:len(state.Sealed)])
		p.lastCommit = max(p.lastCommit, state.Commit)
	}
	var names []string
	for t := range p.version.Tables() {
		names = append(names, folder.Table.Name(t.Number))
	}
	for _, f := range p.version.ValueFiles {
		names = append(names, f.Name())
	}
	e.pinInstalling(names, 1)
	return p, func() {
		e.installing.Lock()
		defer e.installing.Unlock()
		e.pinInstalling(names, -1)
		if !e.closed.Load() { // otherwise the folder may be another's; the next Open removes the rest
			e.removeGarbageInstalling()
		}
	}
}

// pinInstalling adds n to the number of backups that need the files.
func (e *Engine) pinInstalling(names []string, n int) {
	if e.installing.pinned == nil {
		e.installing.pinned = make(map[string]int)
	}
	for _, name := range names {
		if e.installing.pinned[name] += n; e.installing.pinned[name] == 0 {
			delete(e.installing.pinned, name)
		}
	}
}

// backup writes what is frozen into a folder.
func (e *Engine) backup(
	ctx context.Context, p frozen, target vfs.FS, dir string, link bool,
) (err error) {
	folder, err := backup.Begin(target, dir, backup.Source{
		Folder: e.folder, Dir: e.dir, Database: e.database, Version: p.version, LastCommit: p.lastCommit,
		MayVanish: e.options.ReadOnly,
	}, &e.backups)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if err := folder.Copy(ctx, link); err != nil {
		return e.blame(ctx, err, p.version, folder.Files(), dir)
	}
	copied := e.asOpened(folder.Files(), dir, p.version)
	err = e.addMemory(ctx, copied, p, func() uint64 {
		folder.Reserve(p.version.NextNumber + backupGap)
		return folder.NextNumber()
	})
	if err != nil {
		return err
	}
	if err := e.verifyCopied(ctx, copied, !link); err != nil {
		return err
	}
	if err := folder.Commit(copied.state.Load().Levels.Version); err != nil {
		return err
	}
	if err := folder.CopyFailure(); err != nil {
		e.options.Logger.Warn("the backup's manifest has no copy for now", "dir", dir, "err", err)
	}
	if err := folder.Tidy(); err != nil {
		e.options.Logger.Warn("remove what the backup does not need", "dir", dir, "err", err)
	}
	return nil
}

// verifyCopied checks what was copied, and returns why the context ended if it has.
func (e *Engine) verifyCopied(ctx context.Context, copied *Engine, deep bool) error {
	err := copied.Check(ctx, deep)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, corrupt.Err):
		err = fmt.Errorf("%w; the database may be damaged there, too: see \"stoat check %s\"", err, e.dir)
	}
	return fmt.Errorf("verify what was copied: %w", err)
}

// asOpened returns an engine for reading a folder as if it had a manifest that says version.
func (e *Engine) asOpened(folder vfs.Folder, dir string, version *manifest.Version) *Engine {
	s := recovered{store: newStore(directory{folder, dir}, e.database, e.copyOptions())}
	s.levels = s.levelsOf(version)
	return newEngine(e.copyOptions(), s)
}

func (e *Engine) copyOptions() Options {
	o := e.options
	o.ReadOnly, o.MemoryLimit = true, min(o.MemoryLimit, backupMemory)
	o.Shipper = nil
	return o
}

// addMemory writes the frozen memtables to tables of the copy, with numbers from number, and makes
// copied read them. The tables of a replica may be newer than a part of its memtables.
func (e *Engine) addMemory(
	ctx context.Context, copied *Engine, p frozen, number func() uint64,
) error {
	dead, err := copied.deadIn(p.memory)
	if err != nil {
		return err
	}
	for _, root := range p.memory {
		if root.Empty() {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		levels := copied.state.Load().Levels
		job := copied.flushJob(sealed{root: root, lastCommit: p.lastCommit}, levels, final)
		job.Output.NextNumber = number
		job.Drop = func() ([]uint64, error) { return dead, nil } // by each: it forgets them at once
		edit, err := job.Do()
		if err != nil {
			return fmt.Errorf("write what is in memory: %w", err)
		}
		version, err := levels.Version.Apply(edit)
		if err != nil {
			return err
		}
		next := *copied.state.Load()
		next.Levels = superversion.NewLevels(version, levels, copied.opener())
		copied.state.Store(&next)
		copied.current.Store(&next)
		e.countAdded(edit)
	}
	return nil
}

// deadIn returns the buckets of which memtables above the tables, the oldest first, have something
// and which do not exist any more.
func (e *Engine) deadIn(memory []memtable.Root) (dead []uint64, err error) {
	all := &superversion.Superversion{Sealed: slices.Clone(memory), Levels: e.state.Load().Levels}
	slices.Reverse(all.Sealed)
	err = vfs.CatchFaults(func() error {
		dead, err = all.Dead()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for dropped buckets: %w", err)
	}
	return dead, nil
}

// countAdded counts the files of an edit that were written into a backup.
func (e *Engine) countAdded(edit *manifest.Edit) {
	count := func(size uint64) {
		e.backups.Files.Add(1)
		e.backups.Bytes.Add(size)
	}
	for _, r := range append(slices.Clip(edit.AddYoung), manifest.Run{Tables: edit.AddBottom}) {
		for _, t := range r.Tables {
			count(t.Size)
		}
	}
	for _, f := range edit.AddValues {
		count(f.Size)
	}
}
