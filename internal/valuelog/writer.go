package valuelog

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// bufferBytes is how much is written at a time, to a multiple of it as offset: a huge page, which
// the page cache keeps together, as in tables. Of longer values, whole huge pages are not gathered.
const bufferBytes = 2 << 20

// Writer writes a value file front to back. Not safe for concurrent use. The first error is
// permanent.
type Writer struct {
	file   vfs.File
	number uint64
	buffer []byte // what follows what is written; it grows up to bufferBytes
	offset int64  // bytes written
	err    error
}

// NewWriter returns a writer to the empty file f, which stays the caller's to close. The number is
// that in the file's name, and in the pointers.
func NewWriter(file vfs.File, number uint64, database [16]byte) *Writer {
	header := fileheader.New(fileheader.Values, number, database).Bytes()
	return &Writer{file: file, number: number, buffer: header[:]}
}

// Append appends a value, which it does not keep, and returns the pointer to it. The value can be
// read when Finish has returned.
func (w *Writer) Append(value []byte) (Pointer, error) {
	if w.err != nil {
		return Pointer{}, w.err
	}
	if len(value) > maxValueBytes {
		return Pointer{}, w.fail(fmt.Errorf("append a value of %d bytes, at most %d", len(value),
			maxValueBytes))
	}
	p := NewPointer(w.number, uint64(w.Size()), value)
	for len(value) > 0 {
		if n := len(value) / bufferBytes * bufferBytes; n > 0 && len(w.buffer) == 0 {
			if err := w.write(value[:n]); err != nil {
				return Pointer{}, err
			}
			value = value[n:]
			continue
		}
		n := min(len(value), bufferBytes-len(w.buffer))
		w.makeRoom(n)
		w.buffer, value = append(w.buffer, value[:n]...), value[n:]
		if len(w.buffer) == bufferBytes {
			if err := w.flush(); err != nil {
				return Pointer{}, err
			}
		}
	}
	return p, nil
}

// makeRoom makes room for n bytes in the buffer, which doubles: most files of small databases are
// much shorter than a full buffer.
func (w *Writer) makeRoom(n int) {
	if need := len(w.buffer) + n; need > cap(w.buffer) {
		size := min(max(need, 2*cap(w.buffer)), bufferBytes)
		w.buffer = append(make([]byte, 0, size), w.buffer...)
	}
}

// Size returns how long the file is with what was appended so far.
func (w *Writer) Size() int64 { return w.offset + int64(len(w.buffer)) }

// Finish writes what is left and syncs the file, but not its directory. It returns the file's size.
func (w *Writer) Finish() (size uint64, err error) {
	if w.err != nil {
		return 0, w.err
	}
	if err := w.flush(); err != nil {
		return 0, err
	}
	if err := w.file.Sync(); err != nil {
		return 0, w.fail(fmt.Errorf("sync: %w", err))
	}
	w.err = errors.New("value file is finished")
	w.buffer = nil
	return uint64(w.offset), nil
}

// flush writes the buffer.
func (w *Writer) flush() error {
	err := w.write(w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

// write writes p behind what is written.
func (w *Writer) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := w.file.WriteAt(p, w.offset); err != nil {
		return w.fail(fmt.Errorf("write at offset %d: %w", w.offset, err))
	}
	w.offset += int64(len(p))
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = err
	return err
}
