package wal

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/stoatdb/stoat/internal/vfs"
)

// windowBytes is how much more than is asked for is read.
const windowBytes = 256 << 10

// window reads a file front to back through a buffer. Not safe for concurrent use.
type window struct {
	file vfs.File
	name string
	size int64  // of the file
	base int64  // where data lies in it
	data []byte // what has been read and may be asked for again
}

// view returns the bytes [from, to) of the file, which must lie within its size. They are valid
// until the next call. What lies before from is forgotten; from must not decrease.
func (w *window) view(from, to int64) ([]byte, error) {
	if to > w.base+int64(len(w.data)) {
		if to-from > math.MaxInt-windowBytes {
			return nil, fmt.Errorf("read %s: %d bytes do not fit into memory", w.name, to-from)
		}
		if err := w.slide(from, min(to+windowBytes, w.size)); err != nil {
			return nil, err
		}
	}
	return w.data[from-w.base : to-w.base], nil
}

// slide moves the window to start at from and end at to, and reads what is new in it.
func (w *window) slide(from, to int64) error {
	kept := 0
	if skip := from - w.base; skip < int64(len(w.data)) {
		kept = copy(w.data, w.data[skip:])
	}
	w.base, w.data = from, slices.Grow(w.data[:kept], int(to-from)-kept)
	more := w.data[kept : to-from]
	n, err := w.file.ReadAt(more, from+int64(kept))
	if n < len(more) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s at offset %d: %w", w.name, from+int64(kept), err)
	}
	clear(more[n:]) // a writer has closed the file meanwhile, and cut zeros off
	w.data = w.data[:to-from]
	return nil
}
