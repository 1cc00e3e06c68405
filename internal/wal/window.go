package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/stoatdb/stoat/internal/vfs"
)

// windowBytes is how far reads go beyond the bytes asked for.
const windowBytes = 256 << 10

// window reads a file front to back through a buffer. Not safe for concurrent use.
type window struct {
	file vfs.File
	name string
	size int64  // of the file
	base int64  // offset of data in it
	data []byte // bytes that were read and may be asked for again
}

// view returns the bytes [from, to) of the file, which must lie within its size. They are valid
// until the next call. From must not decrease: earlier bytes are forgotten.
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

// slide moves the window to [from, to) and reads the bytes that are new in it.
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
	clear(more[n:]) // at the end of the file: its writer has just cut off preallocated zeros
	w.data = w.data[:to-from]
	return nil
}

// dataEnd returns where the last byte of [from, to) that is not zero ends, or from if all are zero.
// It reads them through a window of its own.
func (w *window) dataEnd(from, to int64) (int64, error) {
	again := window{file: w.file, name: w.name, size: to}
	end := from
	for at := from; at < to; at += windowBytes {
		p, err := again.view(at, min(at+windowBytes, to))
		if err != nil {
			return 0, err
		}
		if n := len(bytes.TrimRight(p, "\x00")); n > 0 {
			end = at + int64(n)
		}
	}
	return end, nil
}
