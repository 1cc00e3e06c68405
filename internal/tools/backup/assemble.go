package backup

import (
	"context"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Adopt begins to make a folder of [BeginEmpty] a copy of a version, none of whose files is in it
// afterwards.
func (f *Folder) Adopt(database [16]byte, version *manifest.Version) error {
	f.begun = true
	if err := f.markUnfinished(); err != nil {
		return err
	}
	f.source.Database, f.source.Version = database, version
	f.Reserve(version.NextNumber)
	for _, i := range itemsOf(version) {
		if err := f.discard(i.kind, i.number); err != nil {
			return err
		}
	}
	return nil
}

// Fetch writes the first size bytes of a file that comes from elsewhere into a new one.
type Fetch func(
	ctx context.Context, kind folder.Kind, number uint64, size int64, to vfs.File,
) error

// Assemble fetches the files of a version into a folder of [BeginEmpty], durable except for their
// names. The caller must verify the files' contents and commit a version of the same database.
func (f *Folder) Assemble(
	ctx context.Context, database [16]byte, version *manifest.Version, fetch Fetch,
) error {
	if err := f.Adopt(database, version); err != nil {
		return err
	}
	for _, i := range itemsOf(version) {
		err := f.create(i.name(), func(file vfs.File) error {
			return fetch(ctx, i.kind, i.number, i.size, file)
		})
		if err != nil {
			return err
		}
		f.meter.Files.Add(1)
		f.meter.Bytes.Add(uint64(i.size))
	}
	return nil
}
