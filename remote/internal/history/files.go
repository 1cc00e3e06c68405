package history

import (
	"context"
	"maps"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// FileSizes returns the names of the objects that hold the files of a version, and how much of each
// the version has.
func FileSizes(v *manifest.Version) map[string]int64 {
	sizes := map[string]int64{}
	for t := range v.Tables() {
		sizes[DataName(folder.Table, t.Number)] = int64(t.Size)
	}
	for _, f := range v.ValueFiles {
		sizes[DataName(f.Kind(), f.Number)] = int64(f.Size)
	}
	return sizes
}

// Needed is [FileSizes] for all that a state needs, or the past since its unlink bound, of which
// sizes are not known.
func Needed(s *object.State) map[string]int64 {
	needed := FileSizes(s.Version)
	for _, r := range s.Retired {
		needed[RetiredName(r)] += 0
	}
	return needed
}

// Lent is [Needed] for the files that only the parent of a clone has, given the clone's own store.
func Lent(ctx context.Context, own objstore.Store, s *object.State) (map[string]int64, error) {
	needed := Needed(s)
	maps.DeleteFunc(needed, func(name string, _ int64) bool {
		_, number, _ := ParseData(name)
		return s.Origin == nil || number>>EpochShift > s.Origin.Epoch
	})
	if len(needed) == 0 {
		return needed, nil
	}
	err := EachObject(ctx, own, DataPrefix, func(page []objstore.Object) error {
		for _, o := range page {
			delete(needed, o.Name)
		}
		return nil
	})
	return needed, err
}

// RetiredName returns the name of the object that holds a retired file.
func RetiredName(r object.Retired) string {
	kind := folder.Table
	switch r.Kind {
	case object.ValuesFile:
		kind = folder.Values
	case object.LogFile:
		kind = folder.Log
	}
	return DataName(kind, r.File)
}
