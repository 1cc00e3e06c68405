package cryptstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/objstore"
)

// farthest is beyond the end of any object, and so far from the largest number that nothing
// overflows.
const farthest = 1 << 60

// Get implements [objstore.Store]. With a negative offset, it asks for the size first. What it asks
// for is up to a page more at both ends.
func (s *Store) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	if off < 0 {
		size, err := s.sizeOf(ctx, name)
		if err != nil {
			return nil, err
		}
		off = max(0, size+off)
	}
	if n == 0 {
		return s.inner.Get(ctx, name, 0, 0) // which says whether there is such an object
	}
	off = min(off, farthest)
	first := off / s.content()
	asked, all := int64(-1), n < 0 || n > farthest
	if !all {
		asked = ((off+n-1)/s.content() - first + 1) * s.page
	}
	stored, err := s.inner.Get(ctx, name, first*s.page, asked)
	if err != nil {
		return nil, err
	}
	content, err := s.decrypt(name, stored, first, int64(len(stored)) != asked)
	if err != nil {
		return nil, err
	}
	content = content[min(off-first*s.content(), int64(len(content))):]
	if !all {
		content = content[:min(n, int64(len(content)))]
	}
	return slices.Clip(content), nil
}

// sizeOf returns the size of an object.
func (s *Store) sizeOf(ctx context.Context, name string) (int64, error) {
	listed, err := s.inner.List(ctx, name, "", 1)
	if err != nil {
		return 0, err
	}
	if len(listed) == 0 || listed[0].Name != name {
		return 0, fmt.Errorf("get %s: %w", name, objstore.ErrNotExist)
	}
	return s.size(listed[0].Size), nil
}

// decrypt returns the content of pages of an object from the given one on, in the place of the
// pages. If they go to its end, the last of them must say so.
func (s *Store) decrypt(name string, stored []byte, first int64, toEnd bool) ([]byte, error) {
	if len(stored) == 0 && first > 0 {
		return nil, nil // beyond the end
	}
	r := &pages{store: s, name: name, next: first}
	content := stored[:0]
	for more := true; more; {
		p := stored[:min(s.page, int64(len(stored)))]
		stored = stored[len(p):]
		more = len(stored) > 0
		opened, err := r.open(p, more, toEnd)
		if err != nil {
			return nil, err
		}
		content = append(content, opened...)
	}
	return content, nil
}

// pages decrypts pages of an object, one after the other. It is not safe for concurrent use.
type pages struct {
	store *Store
	name  string
	next  int64   // the number of the next page
	key   *sealer // nil before the first one
}

// open returns the content of the next page, which lies in the page. More says whether bytes of the
// object follow; if not, toEnd says that none are there, else nobody knows.
func (r *pages) open(p []byte, more, toEnd bool) ([]byte, error) {
	if r.key == nil {
		salt, err := saltOf(r.name, p, r.next)
		if err == nil {
			r.key, err = newSealer(r.store.layout, r.store.secret, r.name, salt)
		}
		if err != nil {
			return nil, err
		}
	}
	page := r.next
	r.next++
	if len(p) < extraBytes || !bytes.Equal(p[:headBytes], head) ||
		!bytes.Equal(p[headBytes:headBytes+saltBytes], r.key.salt) {
		return nil, r.key.damaged(page)
	}
	if more || !toEnd && int64(len(p)) == r.store.page { // most likely, it is not the last one
		if content, ok := r.key.open(p, page, false, more); ok {
			return content, nil
		}
	}
	if !more {
		if content, ok := r.key.open(p, page, true, true); ok {
			return content, nil
		}
	}
	return nil, r.key.damaged(page)
}

// saltOf returns the salt in the page with a number.
func saltOf(name string, page []byte, number int64) ([]byte, error) {
	isMagic := bytes.HasPrefix(page, []byte(magic))
	switch {
	case len(page) >= len(magic) && !isMagic && number == 0:
		return nil, fmt.Errorf("%s is not encrypted, as the other objects of the store are: %w", name,
			corrupt.ErrKey)
	case len(page) < extraBytes:
		return nil, corrupt.New(name, int64(len(page)), "the encrypted object is cut off")
	case !isMagic:
		return nil, corrupt.New(name, 0, "page %d of the encrypted object is damaged", number)
	case binary.LittleEndian.Uint32(page[len(magic):]) > version:
		return nil, fmt.Errorf("%s is encrypted by a newer version of Stoat: %w", name, corrupt.ErrFormat)
	}
	return bytes.Clone(page[headBytes : headBytes+saltBytes]), nil
}
