package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Copy brings the files of the source into the folder, durable except for their names, which Commit
// syncs. Files of the earlier backup are kept after all their bytes have been compared: the error
// is a [Difference] if any differ. With link, the other files except log segments are linked
// instead of copied where the file system supports that.
//
// If a file of the source is missing, the error matches fs.ErrNotExist.
func (f *Folder) Copy(ctx context.Context, link bool) error {
	if f.source.MayVanish {
		if err := f.hold(); err != nil {
			return err
		}
	}
	missing, err := f.compareAll(ctx, link)
	if err != nil {
		return err
	}
	f.begun = f.earlier == nil // else nothing may be removed before protect has succeeded
	if err := f.protect(missing); err != nil {
		return err
	}
	f.begun = true
	for _, i := range missing {
		if err := f.fetch(ctx, i, link); err != nil {
			return err
		}
	}
	return nil
}

// compareAll returns the files that the earlier backup does not have, and an error if one that it
// has differs. It changes nothing.
func (f *Folder) compareAll(ctx context.Context, link bool) (missing []item, err error) {
	there := make(map[string]bool)
	if f.earlier != nil {
		for _, i := range itemsOf(f.earlier.Version) {
			there[i.name()] = f.found.Has(i.kind, i.number)
		}
	}
	for _, i := range itemsOf(f.source.Version) {
		if !there[i.name()] {
			missing = append(missing, i)
			continue
		}
		if err := f.compare(ctx, i, link); err != nil {
			return nil, err
		}
		f.meter.Kept.Add(1)
	}
	return missing, nil
}

// compare returns an error unless the folder has the same file as the source.
func (f *Folder) compare(ctx context.Context, i item, link bool) error {
	from, to := filepath.Join(f.source.Dir, i.name()), f.path(i.name())
	if f.source.Folder.Same(from, f.folder, to) {
		if !link {
			return fmt.Errorf("%s is a link to the database's own file, which damage would hit with "+
				"it; choose another directory for a copy", to)
		}
		f.meter.KeptBytes.Add(uint64(i.size))
		return nil
	}
	return f.withOriginal(i.name(), func(original vfs.File) error {
		return withFile(f.folder, to, func(kept vfs.File) error {
			size, err := kept.Size()
			if err != nil {
				return err
			}
			if size != i.size {
				return &Difference{to, i.number}
			}
			return f.chunks(ctx, original, from, size, func(p []byte, at int64) error {
				return f.compareChunk(kept, i, p, at)
			})
		})
	})
}

// Difference is the error for a file whose bytes differ in the earlier backup and the source.
type Difference struct {
	File   string // its name in the folder, as opened
	Number uint64
}

// Error implements error.
func (d *Difference) Error() string {
	return d.File + " is not the same file as the database's own"
}

func (f *Folder) compareChunk(kept vfs.File, i item, p []byte, at int64) error {
	name := f.path(i.name())
	other := f.buffer(1)[:len(p)]
	if n, err := kept.ReadAt(other, at); n < len(other) {
		return fmt.Errorf("read %s at offset %d: %w", name, at, err)
	}
	if !bytes.Equal(p, other) {
		return &Difference{name, i.number}
	}
	f.meter.KeptBytes.Add(uint64(len(p)))
	return nil
}

// protect keeps files about to be copied from counting as part of the earlier backup or as a
// complete one. It also makes the earlier one durable: if an even earlier manifest is left, the
// process that wrote this one failed or was killed before it was known to be durable.
func (f *Folder) protect(missing []item) error {
	if f.earlier == nil {
		return f.markUnfinished()
	}
	isLog := func(i item) bool { return i.kind == folder.Log }
	if len(f.found.Of(folder.Manifest)) > 1 || slices.ContainsFunc(missing, isLog) {
		return f.writeManifest(f.earlier.Version)
	}
	return nil
}

// markUnfinished durably marks the folder as an unfinished backup.
func (f *Folder) markUnfinished() error {
	if !f.found.Unfinished { // else sync it: its process may have been killed before
		err := f.create(folder.UnfinishedName, func(file vfs.File) error {
			_, err := file.WriteAt([]byte(unfinishedText), 0)
			return err
		})
		if err != nil {
			return err
		}
	}
	return f.folder.SyncDir(f.dir)
}

func (f *Folder) fetch(ctx context.Context, i item, link bool) error {
	to := f.path(i.name())
	if err := f.discard(i.kind, i.number); err != nil {
		return err
	}
	if link && i.kind != folder.Log {
		err := f.source.Folder.Link(filepath.Join(f.source.Dir, i.name()), f.folder, to)
		if err == nil {
			f.meter.Files.Add(1)
			f.meter.Bytes.Add(uint64(i.size))
			return nil
		}
		if errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := f.copyFile(ctx, i); err != nil {
		return err
	}
	f.meter.Files.Add(1)
	return nil
}

func (f *Folder) copyFile(ctx context.Context, i item) error {
	return f.withOriginal(i.name(), func(original vfs.File) error {
		return f.create(i.name(), func(file vfs.File) error {
			from := filepath.Join(f.source.Dir, i.name())
			return f.chunks(ctx, original, from, i.size, func(p []byte, at int64) error {
				_, err := file.WriteAt(p, at)
				f.meter.Bytes.Add(uint64(len(p)))
				return err
			})
		})
	})
}
