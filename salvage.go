package stoat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Salvage makes a new database in dst, which must be missing or empty, of all that can be read of a
// damaged one in src, and says what is lost. It is for when [Open] fails with [ErrCorrupt], or
// reads do, and there is no backup; keep src until the report has been read.
//
// A damaged block of a table loses its keys, which are listed as ranges, or its values; a damaged
// value is lost alone. What is written was verified: keys whose values are lost are listed and left
// out. In the ranges, and everywhere if the report says [SalvageReport.Older], values may be older
// than their last. Buckets that cannot be named become buckets "lost-" and a number in the root
// bucket. A database without damage is copied as it is, compacted.
//
// Layers that keep several keys in agreement notice that something is lost when they are opened:
// collections and feeds say then what to do ([Tx.Salvaged] is how).
//
// Nothing in src is changed. The error is [ErrLocked] if another process has it open. Salvage
// returns an error only if there is nothing to read, if a file must not be read by this user, or if
// dst cannot be written; then, and when ctx ends, nothing of dst stays.
func Salvage(ctx context.Context, src, dst string) (*SalvageReport, error) {
	return salvageOn(ctx, vfs.OS(), src, dst, salvage.Sizes{})
}

// salvageOn is Salvage on any file system, with sizes for the occasion; internal/testing/tuned
// calls it by its name.
func salvageOn(
	ctx context.Context, files vfs.FS, src, dst string, sizes salvage.Sizes,
) (*SalvageReport, error) {
	if src == "" || dst == "" {
		return nil, fmt.Errorf("salvage %q to %q: a directory is not named: %w", src, dst, fs.ErrInvalid)
	}
	id, err := engine.NewIdentity()
	branch, branchErr := engine.NewBranch()
	if err = errors.Join(err, branchErr); err != nil {
		return nil, fmt.Errorf("salvage %s: %w", src, err)
	}
	job := salvage.Job{
		FS: files, Source: src, Dest: dst, Database: id, Branch: branch, Sizes: sizes,
		Verify: func() error { return verify(ctx, files, dst) },
	}
	r, err := job.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("salvage %s: %w", src, err)
	}
	return salvageReport(r), nil
}

// verify checks all of a database that was just written.
func verify(ctx context.Context, files vfs.FS, dir string) error {
	db, err := open(files, dir, &Options{ReadOnly: true}, engine.Tuning{})
	if err != nil {
		return err
	}
	return errors.Join(db.Check(ctx), db.Close())
}
