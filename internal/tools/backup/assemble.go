package backup

import (
	"context"
	"sync"
	"sync/atomic"

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

// Fetch writes the first size bytes of a file that comes from elsewhere into a new one. It is
// called for some files at the same time.
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
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	items := itemsOf(version)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(fetchFiles, len(items)) {
		all.Go(func() {
			for i := next.Add(1); i <= int64(len(items)) && ctx.Err() == nil; i = next.Add(1) {
				if err := f.fetchFrom(ctx, items[i-1], fetch); err != nil {
					fail(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// fetchFiles is how many files are fetched at a time: one is on its way while another is synced.
const fetchFiles = 2

// fetchFrom fetches a file that comes from elsewhere.
func (f *Folder) fetchFrom(ctx context.Context, i item, fetch Fetch) error {
	err := f.create(i.name(), func(file vfs.File) error {
		return fetch(ctx, i.kind, i.number, i.size, file)
	})
	if err == nil {
		f.meter.Files.Add(1)
		f.meter.Bytes.Add(uint64(i.size))
	}
	return err
}
