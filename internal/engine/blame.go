package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/vfs"
)

// blame returns err. If err says that a file of an earlier backup in dir has other bytes, it adds
// which of the two is damaged.
func (e *Engine) blame(
	ctx context.Context, err error, version *manifest.Version, target vfs.Folder, dir string,
) error {
	var differs *backup.Difference
	if !errors.As(err, &differs) {
		return err
	}
	part, partErr := partWith(version, differs.Number)
	if partErr != nil {
		return errors.Join(err, partErr)
	}
	theirs := e.asOpened(target, dir, part).Check(ctx, true)
	ours := e.asOpened(e.folder, e.dir, part).Check(ctx, true)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case errors.Is(ours, corrupt.Err) && errors.Is(theirs, corrupt.Err):
		err = fmt.Errorf("%w: both are damaged: %w; %w", err, ours, theirs)
	case errors.Is(ours, corrupt.Err):
		err = fmt.Errorf("%w: the database is damaged, and the backup is not; keep it: %w", err, ours)
	case errors.Is(theirs, corrupt.Err):
		err = fmt.Errorf("%w: the backup is damaged; choose another directory: %w", err, theirs)
	default:
		err = fmt.Errorf("%w: neither is damaged, so the backup is of a copy that went its own "+
			"way; choose another directory", err)
	}
	return err
}

// partWith returns a version with the tables of v that are the given file or point into it, and
// with the catalog of buckets, which every check needs.
func partWith(v *manifest.Version, number uint64) (*manifest.Version, error) {
	choose := func(tables []*manifest.Table) (some []*manifest.Table) {
		for _, t := range tables {
			needed := t.Number == number || t.IsCatalog()
			for _, s := range t.Values {
				needed = needed || s.File == number
			}
			if needed {
				some = append(some, t)
			}
		}
		return some
	}
	edit := &manifest.Edit{
		AddBottom: choose(v.Bottom.Tables), AddValues: v.ValueFiles, AddDictionaries: v.Dictionaries,
	}
	for _, r := range v.Young {
		if some := choose(r.Tables); len(some)+len(r.Deleted) > 0 {
			edit.AddYoung = append(edit.AddYoung, manifest.Run{Tables: some, Deleted: r.Deleted})
		}
	}
	empty := &manifest.Version{Dropped: v.Dropped, DropEpoch: v.DropEpoch}
	return empty.Apply(edit)
}
