package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// chunkBytes is how much is copied or compared at a time, between two looks at the context.
	chunkBytes = 1 << 20
	// maxHeld is how many files of the source are kept open at most. Systems allow a process to
	// have a few thousand, and it may need some for something else.
	maxHeld = 1000
)

// originals are the files of the source, as they are read.
type originals struct {
	source  Source
	held    map[string]vfs.File // those that are kept open, lest they vanish
	buffers [2][]byte
}

// hold opens the files of the source, so that most stay readable when they are removed.
func (o *originals) hold() error {
	o.held = make(map[string]vfs.File)
	for _, i := range itemsOf(o.source.Version) {
		file, err := o.source.Folder.Open(filepath.Join(o.source.Dir, i.name()))
		if err != nil {
			return err
		}
		if len(o.held) == maxHeld { // the others need only exist
			if err := file.Close(); err != nil {
				return err
			}
			continue
		}
		o.held[i.name()] = file
	}
	return nil
}

func (o *originals) release() error {
	var errs []error
	for _, file := range o.held {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

func (o *originals) withOriginal(name string, fn func(vfs.File) error) error {
	if file, ok := o.held[name]; ok {
		delete(o.held, name)
		return errors.Join(fn(file), file.Close())
	}
	return withFile(o.source.Folder, filepath.Join(o.source.Dir, name), fn)
}

// chunks calls fn with the first size bytes of a file, piece by piece, until that fails.
func (o *originals) chunks(
	ctx context.Context, file vfs.File, name string, size int64, fn func(p []byte, at int64) error,
) error {
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		p := o.buffer(0)[:min(size-at, chunkBytes)]
		n, err := file.ReadAt(p, at)
		if n < len(p) {
			if errors.Is(err, io.EOF) {
				return corrupt.New(name, 0, "file has %d bytes, want %d", at+int64(n), size)
			}
			return fmt.Errorf("read %s at offset %d: %w", name, at, err)
		}
		if err := fn(p, at); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// buffer returns memory for a chunk, as one of two.
func (o *originals) buffer(i int) []byte {
	if o.buffers[i] == nil {
		o.buffers[i] = make([]byte, chunkBytes)
	}
	return o.buffers[i]
}

// withFile calls fn with an open file.
func withFile(files vfs.Files, name string, fn func(vfs.File) error) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(fn(file), file.Close())
}
