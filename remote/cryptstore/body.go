package cryptstore

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/stoatdb/stoat/remote/objstore"
)

// body is the pages of an object whose content is read when they are. Safe for concurrent use, as
// far as the content is.
type body struct {
	*sealer
	content io.ReaderAt
	size    int64 // of the content
	recent  *recent
}

var _ objstore.Paced = (*body)(nil)

// recent is the page that was read last: who sends an object may read parts of pages.
type recent struct {
	mu      sync.Mutex
	page    int64 // -1: there is none
	bytes   []byte
	content []byte // of the page; reused
}

func newBody(s *sealer, content io.ReaderAt, size int64) *body {
	return &body{s, content, size, &recent{page: -1}}
}

// Unpaced implements [objstore.Paced].
func (b *body) Unpaced() io.ReaderAt {
	return newBody(b.sealer, objstore.Unpaced(b.content), b.size)
}

// ReadAt implements [io.ReaderAt].
func (b *body) ReadAt(p []byte, at int64) (n int, err error) {
	b.recent.mu.Lock()
	defer b.recent.mu.Unlock()
	for n < len(p) {
		page := (at + int64(n)) / b.page
		if at < 0 || page >= b.pages(b.size) {
			return n, io.EOF
		}
		if b.recent.page != page {
			if err := b.readLocked(page); err != nil {
				return n, err
			}
		}
		skip := at + int64(n) - page*b.page
		if skip >= int64(len(b.recent.bytes)) {
			return n, io.EOF
		}
		n += copy(p[n:], b.recent.bytes[skip:])
	}
	return n, nil
}

// readLocked makes a page the recent one.
func (b *body) readLocked(page int64) error {
	b.recent.page = -1
	from := page * b.sealer.content()
	size := int(min(b.sealer.content(), b.size-from))
	content := slices.Grow(b.recent.content[:0], size)[:size]
	b.recent.content = content
	n, err := b.content.ReadAt(content, from)
	if n < len(content) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read what is to be %s: %w", b.name, err)
	}
	last := page == b.pages(b.size)-1
	b.recent.bytes = b.seal(b.recent.bytes[:0], content, page, last)
	b.recent.page = page
	return nil
}
