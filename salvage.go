package stoat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

// Salvage makes a new database in dst, which must be missing or empty, of everything that can be
// read of a damaged one in src, and reports what is lost. Use it when [Open] or reads fail with
// [ErrCorrupt] and there is no backup; keep src until you have read the report.
//
// A damaged block of a table loses its keys, reported as ranges, or its values; a damaged value is
// lost alone. Everything written has been verified: keys whose values are lost are listed and left
// out. In the reported ranges, and everywhere if [SalvageReport.Older] is set, values may be
// outdated. Buckets whose names are lost become buckets "lost-" and a number in the root bucket. An
// undamaged database is copied and compacted.
//
// Layers that keep several keys consistent notice lost data when they are opened: collections and
// feeds then say what to do, using [Tx.Salvaged].
//
// Salvage changes nothing in src. The error is [ErrLocked] if another process has src open.
// Otherwise Salvage fails only if there is nothing to read, if this user may not read a file, or if
// dst cannot be written. After an error, and when ctx is done, nothing of dst remains. For an
// encrypted database, use [SalvageWithKey].
func Salvage(ctx context.Context, src, dst string) (*SalvageReport, error) {
	return SalvageWithKey(ctx, src, dst, nil)
}

// SalvageWithKey is [Salvage] for an encrypted database, whose [Options.Key] is key; that of dst is
// the same. If src is encrypted with another key, or is not, the error matches [ErrKey]. A nil key
// is for databases that are not encrypted.
func SalvageWithKey(ctx context.Context, src, dst string, key []byte) (*SalvageReport, error) {
	files, sizes := vfs.OS(), salvage.Sizes{}
	if settings, ok := hook.From(ctx); ok {
		files, sizes = settings.FS, settings.Sizes
	}
	if src == "" || dst == "" {
		return nil, fmt.Errorf("salvage %q to %q: a directory name is empty: %w", src, dst, fs.ErrInvalid)
	}
	files, err := salvageable(files, src, key)
	if err != nil {
		return nil, fmt.Errorf("salvage %s: %w", src, err)
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

// salvageable returns the file system on which the database in src is not encrypted.
func salvageable(files vfs.FS, src string, key []byte) (vfs.FS, error) {
	if key == nil {
		return files, cryptfs.WantPlain(files, src)
	}
	k, err := namedKey("key", key)
	if err != nil {
		return nil, err
	}
	sealed := cryptfs.New(files, k)
	return sealed, sealed.WantEncrypted(src)
}

func verify(ctx context.Context, files vfs.FS, dir string) error {
	db, err := open(dir, &Options{ReadOnly: true}, hook.Settings{FS: files})
	if err != nil {
		return err
	}
	return errors.Join(db.Check(ctx), db.Close())
}
