package engine

import (
	"context"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
)

// arrivals is which files of a version are there. Safe for concurrent use.
type arrivals map[arrival]chan struct{} // closed once it is

// arrival is a file.
type arrival struct {
	kind   folder.Kind
	number uint64
}

// newArrivals returns the files of a version, none of which is there.
func newArrivals(v *manifest.Version) arrivals {
	all := make(arrivals)
	for t := range v.Tables() {
		all[arrival{folder.Table, t.Number}] = make(chan struct{})
	}
	for _, f := range v.ValueFiles {
		all[arrival{f.Kind(), f.Number}] = make(chan struct{})
	}
	return all
}

// add says that a file is there.
func (a arrivals) add(kind folder.Kind, number uint64) { close(a[arrival{kind, number}]) }

// await returns when a table is there, and the value files that it points into.
func (a arrivals) await(ctx context.Context, v *manifest.Version, t *manifest.Table) error {
	for _, file := range needed(v, t) {
		select {
		case <-a[file]:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// arrivalOf returns a table's file.
func arrivalOf(t *manifest.Table) arrival { return arrival{folder.Table, t.Number} }

// needed returns a table and the value files that it points into.
func needed(v *manifest.Version, t *manifest.Table) []arrival {
	files := []arrival{arrivalOf(t)}
	for _, share := range t.Values {
		if f, ok := v.ValueFile(share.File); ok {
			files = append(files, arrival{f.Kind(), f.Number})
		}
	}
	return files
}
