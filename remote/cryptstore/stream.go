package cryptstore

import (
	"context"
	"io"

	"github.com/stoatdb/stoat/remote/objstore"
)

// GetTo implements [objstore.Streamer], with the memory of a page.
func (s *Store) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (written int64, err error) {
	if err := check(name); err != nil {
		return 0, err
	}
	if n == 0 {
		_, err := s.Get(ctx, name, 0, 0)
		return 0, err
	}
	off, n = min(off, farthest), min(n, farthest)
	first := off / s.content()
	asked := ((off+n-1)/s.content() - first + 1) * s.page
	d := &decrypting{
		pages: pages{store: s, name: name, next: first},
		w:     w, skip: off - first*s.content(), left: n,
	}
	got, err := objstore.GetTo(ctx, s.inner, name, first*s.page, asked, d)
	if err == nil && (got > 0 || first == 0) {
		err = d.deliver(false, got != asked)
	}
	return d.written, err
}

// decrypting passes on a part of the content of the pages that are written to it. It is not safe
// for concurrent use.
type decrypting struct {
	pages
	w       io.Writer
	held    []byte // of the next page
	skip    int64  // bytes of content before the part
	left    int64  // bytes of the part
	written int64
}

// Write implements [io.Writer].
func (d *decrypting) Write(p []byte) (n int, err error) {
	if _, err := d.w.Write(nil); err != nil { // over a slow link, a page takes long to be whole
		return 0, err
	}
	for n < len(p) {
		if int64(len(d.held)) == d.store.page {
			if err := d.deliver(true, false); err != nil {
				return n, err
			}
		}
		room := int(d.store.page) - len(d.held)
		part := p[n:min(len(p), n+room)]
		d.held, n = append(d.held, part...), n+len(part)
	}
	return n, nil
}

// deliver passes on what the page that is held has of the part, as [pages.open] has it.
func (d *decrypting) deliver(more, toEnd bool) error {
	content, err := d.open(d.held, more, toEnd)
	if err != nil {
		return err
	}
	content = content[min(d.skip, int64(len(content))):]
	content = content[:min(d.left, int64(len(content)))]
	d.held, d.skip = d.held[:0], 0
	n, err := d.w.Write(content)
	d.left, d.written = d.left-int64(n), d.written+int64(n)
	return err
}
