package cryptstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Store encrypts objects. It is safe for concurrent use.
type Store struct {
	layout
	inner  objstore.Store
	secret cryptfs.Secret
}

var _ interface {
	objstore.Encrypting
	objstore.Streamer
} = (*Store)(nil)

// Encrypts implements [objstore.Encrypting].
func (s *Store) Encrypts() bool { return true }

// Streams says whether the store below does ([objstore.Streams]).
func (s *Store) Streams() bool { return objstore.Streams(s.inner) }

// check returns an error if no object may have the name here.
func check(name string) error {
	if strings.HasPrefix(name+"/", keyPrefix) {
		return fmt.Errorf("%w: %q: objects of encrypted stores do not begin with %s, where the keys are",
			objstore.ErrName, name, keyPrefix)
	}
	return objstore.CheckName(name)
}

// sealer returns what encrypts an object with this content.
func (s *Store) sealer(name string, size int64, content io.Reader) (*sealer, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	salt, err := salt(s.secret, name, size, content)
	if err != nil {
		return nil, fmt.Errorf("read what is to be %s: %w", name, err)
	}
	return newSealer(s.layout, s.secret, name, salt)
}

// Create implements [objstore.Store].
func (s *Store) Create(ctx context.Context, name string, content []byte) error {
	size := int64(len(content))
	key, err := s.sealer(name, size, bytes.NewReader(content))
	if err != nil {
		return err
	}
	stored := make([]byte, 0, s.stored(size))
	for page := range s.pages(size) {
		n := min(s.content(), int64(len(content)))
		stored = key.seal(stored, content[:n], page, page == s.pages(size)-1)
		content = content[n:]
	}
	return s.inner.Create(ctx, name, stored)
}

// Put implements [objstore.Store]. It reads the content once more, without pace.
func (s *Store) Put(ctx context.Context, name string, content io.ReaderAt, size int64) error {
	key, err := s.sealer(name, size, io.NewSectionReader(objstore.Unpaced(content), 0, size))
	if err != nil {
		return err
	}
	return s.inner.Put(ctx, name, newBody(key, content, size), s.stored(size))
}

// List implements [objstore.Store]. The sizes are those of the contents.
func (s *Store) List(
	ctx context.Context, prefix, after string, limit int,
) (listed []objstore.Object, err error) {
	for {
		page, err := s.inner.List(ctx, prefix, after, limit-len(listed))
		if err != nil {
			return nil, err
		}
		more := len(page) == limit-len(listed)
		for _, o := range page {
			after = o.Name
			if !strings.HasPrefix(o.Name, keyPrefix) {
				o.Size = s.size(o.Size)
				listed = append(listed, o)
			}
		}
		if !more || len(listed) == limit || len(page) == 0 {
			return listed, nil
		}
	}
}

// Delete implements [objstore.Store].
func (s *Store) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := check(name); err != nil {
			return err
		}
	}
	return s.inner.Delete(ctx, names)
}
