package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Vacant returns an error unless dir is a folder that [Replica.Settle] and [Rebuild] may fill: one
// that is missing or empty, or has what an earlier try has left.
func Vacant(target vfs.FS, dir string) error {
	to, err := backup.BeginEmpty(target, dir)
	if err != nil {
		return err
	}
	return to.Close()
}

// Settle makes dir, a folder that is [Vacant], a database with all that the replica shows. The
// files of its version stay where they are, so the folder opens only where target finds them
// elsewhere. What is in memory goes to new files, with numbers from first on. The database gets
// another branch when it is opened. Like the replica's other methods, Settle is for one goroutine.
func (r *Replica) Settle(
	ctx context.Context, target vfs.FS, dir string, first uint64,
) (err error) {
	to, err := backup.BeginEmpty(target, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	version := r.state.Load().Levels.Version
	if err := to.Adopt(r.database, version); err != nil {
		return err
	}
	to.Reserve(first)
	e := newReceived(to, dir, r.database, version)
	p := frozen{memory: r.memory.roots(), lastCommit: r.Visible()}
	if err := e.addMemory(ctx, e, p, to.NextNumber); err != nil {
		return err
	}
	settled := *e.state.Load().Levels.Version
	settled.LastCommit = max(settled.LastCommit, p.lastCommit)
	if err := to.Commit(&settled); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	_ = to.Tidy() // the folder is a database, whatever is left in it
	return nil
}

// roots returns the trees of all memtables, the oldest first.
func (m *replayed) roots() []memtable.Root {
	roots := make([]memtable.Root, 0, len(m.full)+1)
	for _, f := range m.full {
		roots = append(roots, f.root)
	}
	return append(roots, m.root)
}
