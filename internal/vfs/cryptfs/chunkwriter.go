package cryptfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// sectorBytes is what a disk writes wholly or not at all.
	sectorBytes = 512
	// pieceBytes is how much content is encrypted before it is written.
	pieceBytes = 1 << 20
)

// chunkWriter writes a file of chunks, front to back. It is for one goroutine at a time, except for
// readers of the file.
type chunkWriter struct {
	sealed
	keys   fileKeys
	head   []byte       // the header, until it is written
	begun  bool         // the header is durable
	size   atomic.Int64 // of the content
	stored atomic.Int64 // of the file, without what is preallocated
	synced int64        // how much of the content is durable
	out    []byte       // for the chunks of one write; reused
	err    error        // the first failed write or sync, which is final
	forget func()       // tells readers that are opened later that nobody writes
}

func newChunkWriter(inner vfs.File, name string, head []byte, keys fileKeys) *chunkWriter {
	return &chunkWriter{sealed: sealed{inner, name}, keys: keys, head: head}
}

// WriteAt appends p.
func (w *chunkWriter) WriteAt(p []byte, off int64) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	if off != w.size.Load() {
		return 0, w.refuse("write", fmt.Errorf("%w: an encrypted file is written once and in order",
			fs.ErrInvalid))
	}
	for n < len(p) {
		piece := p[n:min(len(p), n+pieceBytes)]
		if err := w.write(piece); err != nil {
			w.err = err
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// write appends one piece, in one write, unless that goes beyond the first sector before the header
// is durable: a file without a header but with content must be damage.
func (w *chunkWriter) write(piece []byte) error {
	at, start := w.stored.Load(), w.size.Load()
	w.out = append(slices.Grow(w.out[:0], int(storedFor(int64(len(piece))))+headerBytes), w.head...)
	end := at + int64(len(w.out))
	if !w.begun && end+chunkExtra+int64(len(piece)) > sectorBytes {
		if err := w.begin(); err != nil {
			return err
		}
		at, end, w.out = w.stored.Load(), w.stored.Load(), w.out[:0]
	}
	for len(piece) > 0 {
		n := min(len(piece), room(end))
		if n < 1 { // the rest of the block stays empty
			pad := blockBytes - end%blockBytes
			w.out, end = append(w.out, make([]byte, pad)...), end+pad
			continue
		}
		c := chunk{at: end, start: start, durable: w.synced, length: n}
		w.out = c.seal(w.out, piece[:n], w.keys)
		start, end, piece = c.end(), c.next(), piece[n:]
	}
	if _, err := w.inner.WriteAt(w.out, at); err != nil {
		return err
	}
	w.head = nil
	w.stored.Store(end)
	w.size.Store(start)
	return nil
}

// begin makes the header durable.
func (w *chunkWriter) begin() error {
	if w.head != nil {
		if _, err := w.inner.WriteAt(w.head, 0); err != nil {
			return err
		}
		w.stored.Store(int64(len(w.head)))
		w.head = nil
	}
	if err := w.inner.Sync(); err != nil {
		return err
	}
	w.begun, w.synced = true, w.size.Load()
	return nil
}

// Sync makes the content durable.
func (w *chunkWriter) Sync() error {
	if w.err != nil {
		return w.err
	}
	if w.err = w.inner.Sync(); w.err == nil {
		w.begun, w.synced = w.head == nil, w.size.Load()
	}
	return w.err
}

// StartSync asks for everything that was written: what is on the disk already costs nothing.
func (w *chunkWriter) StartSync(_, n int64) {
	end := w.stored.Load()
	w.inner.StartSync(max(0, end-storedFor(n)), min(end, storedFor(n)))
}

// Close implements io.Closer.
func (w *chunkWriter) Close() error {
	w.forget()
	return w.inner.Close()
}

func (w *chunkWriter) Size() (int64, error) { return w.size.Load(), nil }

func (w *chunkWriter) ReadAt(p []byte, off int64) (int, error) {
	r := newChunkReader(w.inner, w.name, w.keys)
	r.writer = w
	return r.ReadAt(p, off)
}

// Truncate gives up what was preallocated; the size must be that of the content.
func (w *chunkWriter) Truncate(size int64) error {
	if size != w.size.Load() {
		return w.refuse("truncate", errors.ErrUnsupported)
	}
	return w.inner.Truncate(w.stored.Load())
}

// Preallocate reserves what the content takes if it comes in few writes, and an eighth more for
// the others. The size of the content stays.
func (w *chunkWriter) Preallocate(size int64) error {
	if more := size - w.size.Load(); more > 0 {
		return w.inner.Preallocate(w.stored.Load() + headerBytes + storedFor(more))
	}
	return nil
}

// storedFor returns about how much of a file n bytes of content take.
func storedFor(n int64) int64 { return n + n/8 + chunkExtra }
