package objectfs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// file is an object that is read as a file.
type file struct {
	store  objstore.Store
	object string
	size   int64 // how much of it counts
}

// ReadAt implements [vfs.File].
func (f *file) ReadAt(p []byte, at int64) (n int, err error) {
	want := int64(len(p))
	if at < 0 || at > f.size || want > f.size-at {
		return 0, fmt.Errorf("read %s: bytes %d to %d of %d: %w", f.object, at, at+want, f.size, io.EOF)
	}
	got, err := f.store.Get(context.Background(), f.object, at, want)
	if errors.Is(err, objstore.ErrNotExist) || err == nil && int64(len(got)) < want {
		return 0, corrupt.New(f.object, at, "the object is missing, or ends before %d", at+want)
	}
	if err != nil {
		return 0, fmt.Errorf("get %s: %w", f.object, err)
	}
	return copy(p, got), nil
}

// Size implements [vfs.File].
func (f *file) Size() (int64, error) { return f.size, nil }

// Map implements [vfs.File].
func (f *file) Map(int64) ([]byte, func() error, error) { return nil, nil, vfs.ErrNoMap }

// Named implements [vfs.File].
func (f *file) Named() error { return nil }

// Close implements [vfs.File].
func (f *file) Close() error { return nil }
