package backup

import (
	"context"
	"io"

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

// Fetch writes n bytes from off on of a file that comes from elsewhere. It is an error if there are
// fewer. It is called for some pieces at the same time.
type Fetch func(
	ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
) error

// Assemble fetches the files of a version into a folder of [Folder.Adopt], durable except for their
// names, and calls landed with each that is there, from whichever goroutine. They come nearly in
// the order of the tables, with the value files that a table points into before it. The caller must
// verify the files' contents and commit a version of the same database.
func (f *Folder) Assemble(
	ctx context.Context, fetch Fetch, landed func(kind folder.Kind, number uint64),
) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	a := &assembly{
		folder: f, inOrder: vfs.InOrder(f.folder), fetch: fetch, landed: landed, fail: fail,
	}
	for _, i := range inOrder(f.source.Version) {
		a.files = append(a.files, &incoming{item: i, missing: i.size})
	}
	return a.run(ctx)
}

// inOrder returns the files of a version, each table after the value files that it points into.
func inOrder(v *manifest.Version) (items []item) {
	added := make(map[uint64]bool)
	add := func(file manifest.ValueFile) {
		if !added[file.Number] {
			added[file.Number] = true
			items = append(items, item{file.Kind(), file.Number, int64(file.Size)})
		}
	}
	for t := range v.Tables() {
		for _, share := range t.Values {
			if file, ok := v.ValueFile(share.File); ok {
				add(file)
			}
		}
		items = append(items, item{folder.Table, t.Number, int64(t.Size)})
	}
	for _, file := range v.ValueFiles {
		add(file)
	}
	return items
}
