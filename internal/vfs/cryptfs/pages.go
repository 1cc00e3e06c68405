package cryptfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

// A page has 4 KiB: content, and its tag. The header takes the place of the first content of page
// 0. The last page may be shorter; its nonce says that it is the last, so a file that is cut off
// between pages does not end with one.
const (
	pageBytes = 4 << 10
	pageData  = pageBytes - tagBytes
	runPages  = 16 // how many are read at once
)

// scratch holds buffers. Safe for concurrent use.
type scratch struct{ pool sync.Pool }

// buffer is memory for a read. It has the nonce, too: what a cipher is given would be garbage.
type buffer struct {
	stored [runPages * pageBytes]byte
	nonce  [nonceBytes]byte
}

func (s *scratch) take() *buffer {
	if b, ok := s.pool.Get().(*buffer); ok {
		return b
	}
	return new(buffer)
}

// pageReader reads a file of pages. Safe for concurrent use.
type pageReader struct {
	sealed
	keys   fileKeys
	size   int64 // of the content
	stored int64 // of the file
}

func newPageReader(inner vfs.File, name string, keys fileKeys) (*pageReader, error) {
	stored, err := inner.Size()
	if err != nil {
		return nil, err
	}
	return newStoredReader(inner, name, keys, stored)
}

// newStoredReader returns the reader of a file with so many bytes.
func newStoredReader(
	inner vfs.File, name string, keys fileKeys, stored int64,
) (*pageReader, error) {
	full, rest := stored/pageBytes, stored%pageBytes
	size := full*pageData - headerBytes
	if rest > 0 {
		size += rest - tagBytes
	}
	if size < 0 || rest > 0 && rest <= tagBytes {
		return nil, corrupt.New(name, stored, "the encrypted file is cut off")
	}
	return &pageReader{sealed: sealed{inner, name}, keys: keys, size: size, stored: stored}, nil
}

func (r *pageReader) Size() (int64, error) { return r.size, nil }

// VerifiesReads implements vfs.Verified: a page verifies only as what was written at its place.
func (r *pageReader) VerifiesReads() bool { return true }

// ReadAt reads the pages that hold the bytes asked for.
func (r *pageReader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, r.refuse("read", fs.ErrInvalid)
	}
	if off >= r.size {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), r.size-off)]
	buffer := r.keys.buffers.take()
	defer r.keys.buffers.pool.Put(buffer)
	for n < len(want) {
		got, err := r.run(want[n:], off+int64(n), buffer)
		if err != nil {
			return n, err
		}
		n += got
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// run reads the start of p from pages that follow each other, as many as fit into the buffer.
func (r *pageReader) run(p []byte, off int64, b *buffer) (n int, err error) {
	at := off + headerBytes
	page := at / pageData
	last := (at + int64(len(p)) - 1) / pageData
	start := page * pageBytes
	end := min(r.stored, (min(last, page+runPages-1)+1)*pageBytes)
	stored := b.stored[:end-start]
	if got, err := r.inner.ReadAt(stored, start); got < len(stored) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, fmt.Errorf("read %s at offset %d: %w", r.name, start, err)
	}
	for skip := int(at % pageData); len(stored) > 0; skip = 0 {
		one := stored[:min(len(stored), pageBytes)]
		if size := len(one) - tagBytes; page > 0 && skip == 0 && size <= len(p)-n {
			if err := r.openTo(p[n:n:n+size], one, page, &b.nonce); err != nil {
				return n, err
			}
			n += size
		} else {
			content, err := r.open(one, page, &b.nonce)
			if err != nil {
				return n, err
			}
			n += copy(p[n:], content[skip:])
		}
		stored, page = stored[len(one):], page+1
	}
	return n, nil
}

// open decrypts a page in place. It returns its content; that of page 0 starts with the header,
// which is not encrypted. The nonce is for its use.
func (r *pageReader) open(p []byte, page int64, n *[nonceBytes]byte) ([]byte, error) {
	head := 0
	if page == 0 {
		head = headerBytes
	}
	return p[:len(p)-tagBytes], r.openTo(p[head:head], p[head:], page, n)
}

// openTo decrypts what is encrypted of a page to the end of dst, which must have room for it.
func (r *pageReader) openTo(dst, p []byte, page int64, n *[nonceBytes]byte) error {
	use := byte(nonceMiddle)
	if (page+1)*pageBytes >= r.stored {
		use = nonceLast
	}
	*n = nonce(uint64(page), use)
	if _, err := r.keys.aead.Open(dst, n[:], p, nil); err != nil {
		return corrupt.New(r.name, page*pageBytes, "encrypted page %d does not verify", page)
	}
	return nil
}
