package cryptfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/stoatdb/stoat/internal/vfs"
)

// pageWriter writes a file of pages, front to back. The first Sync or Close ends the file: what is
// then the last page is sealed as such. Not safe for concurrent use.
type pageWriter struct {
	sealed
	keys  fileKeys
	page  []byte // the content of the page that is being filled; that of page 0 has the header
	pages int64  // written before it
	size  int64  // of the content
	ended bool
	out   []byte // for the pages of one write; reused
	err   error  // the first failure, which is final
}

func newPageWriter(inner vfs.File, name string, head []byte, keys fileKeys) *pageWriter {
	return &pageWriter{sealed: sealed{inner, name}, keys: keys, page: head}
}

// WriteAt appends p. A page is written when there is content behind it.
func (w *pageWriter) WriteAt(p []byte, off int64) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if off != w.size || w.ended {
		return 0, w.refuse("write", fmt.Errorf("%w: an encrypted file is written once and in order",
			fs.ErrInvalid))
	}
	first := w.pages
	w.out = slices.Grow(w.out[:0], (len(p)/pageData+2)*pageBytes) // ciphers grow it by one page only
	for rest := p; len(rest) > 0; {
		if len(w.page) == pageData {
			w.seal(nonceMiddle)
		}
		n := min(len(rest), pageData-len(w.page))
		w.page, rest = append(w.page, rest[:n]...), rest[n:]
	}
	if err := w.flush(first); err != nil {
		return 0, err
	}
	w.size += int64(len(p))
	return len(p), nil
}

// seal moves the page that is being filled to the output.
func (w *pageWriter) seal(use byte) {
	head := 0
	if w.pages == 0 {
		head = headerBytes
	}
	w.out = append(w.out, w.page[:head]...)
	n := nonce(uint64(w.pages), use)
	w.out = w.keys.aead.Seal(w.out, n[:], w.page[head:], nil)
	w.page = w.page[:0]
	w.pages++
}

// flush writes the output, which starts with the page first.
func (w *pageWriter) flush(first int64) error {
	if len(w.out) == 0 {
		return nil
	}
	if _, err := w.inner.WriteAt(w.out, first*pageBytes); err != nil {
		w.err = err
		return err
	}
	w.inner.StartSync(first*pageBytes, int64(len(w.out)))
	return nil
}

// end writes the last page.
func (w *pageWriter) end() error {
	if w.err != nil || w.ended {
		return w.err
	}
	w.ended, w.out = true, w.out[:0]
	w.seal(nonceLast)
	err := w.flush(w.pages - 1)
	w.page, w.out = nil, nil
	return err
}

// Sync ends the file and makes it durable.
func (w *pageWriter) Sync() error {
	if err := w.end(); err != nil {
		return err
	}
	w.err = w.inner.Sync()
	return w.err
}

// Close ends the file, unless nothing was written to it.
func (w *pageWriter) Close() error {
	var err error
	if w.size > 0 {
		err = w.end()
	}
	return errors.Join(err, w.inner.Close())
}

func (w *pageWriter) Size() (int64, error) { return w.size, nil }

// ReadAt implements io.ReaderAt for a file that has ended.
func (w *pageWriter) ReadAt(p []byte, off int64) (int, error) {
	if w.size == 0 {
		return 0, io.EOF
	}
	if !w.ended {
		return 0, w.refuse("read", fmt.Errorf("%w: an encrypted file cannot be read before it is synced",
			fs.ErrInvalid))
	}
	r, err := newPageReader(w.inner, w.name, w.keys)
	if err != nil {
		return 0, err
	}
	return r.ReadAt(p, off)
}

// Truncate implements vfs.File for the size that the file has.
func (w *pageWriter) Truncate(size int64) error {
	if size != w.size {
		return w.refuse("truncate", errors.ErrUnsupported)
	}
	return w.err
}

// Preallocate reserves nothing: tables and value files do not ask for it.
func (w *pageWriter) Preallocate(int64) error {
	return w.refuse("preallocate", errors.ErrUnsupported)
}
