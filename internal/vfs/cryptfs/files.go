package cryptfs

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	names "github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// files is all files of a file system, or those of a folder.
type files struct {
	vfs.Files
	key  *Key
	live *sync.Map // *chunkWriter by salt, while it is open
}

// layoutOf returns the layout of the file with the given name; ok is false if it is passed through.
func layoutOf(name string) (l layout, ok bool) {
	switch kind, _ := names.Parse(filepath.Base(name)); kind {
	case names.Table, names.Values:
		return paged, true
	case names.Log, names.Manifest, names.ManifestCopy:
		return chunked, true
	}
	return 0, false
}

// Create implements vfs.Files. Nothing is written before the first byte of the content.
func (f files) Create(name string) (vfs.File, error) {
	inner, err := f.Files.Create(name)
	l, ok := layoutOf(name)
	if err != nil || !ok {
		return inner, err
	}
	head, keys, err := newHeader(f.key, l)
	if err != nil {
		return nil, errors.Join(err, inner.Close(), f.Files.Remove(name))
	}
	if l == paged {
		return newPageWriter(inner, name, head, keys), nil
	}
	w := newChunkWriter(inner, name, head, keys)
	salt := [saltBytes]byte(head[saltAt:])
	f.live.Store(salt, w)
	w.forget = func() { f.live.Delete(salt) }
	return w, nil
}

// Open implements vfs.Files.
func (f files) Open(name string) (vfs.File, error) {
	inner, err := f.Files.Open(name)
	l, ok := layoutOf(name)
	if err != nil || !ok {
		return inner, err
	}
	file, err := f.open(inner, name, l)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return file, nil
}

func (f files) open(inner vfs.File, name string, l layout) (vfs.File, error) {
	h, err := readHeader(inner, name)
	if err != nil {
		return nil, err
	}
	if h.raw == nil {
		if l == paged {
			return nil, corrupt.New(name, 0, "the header of the encrypted file is lost")
		}
		return &blank{sealed{inner, name}}, nil
	}
	if h.layout != l {
		return nil, corrupt.New(name, 0, "the encrypted file is of another kind")
	}
	keys, err := f.key.keysOf(h, name)
	if err != nil {
		return nil, err
	}
	if l == paged {
		return newPageReader(inner, name, keys)
	}
	r := newChunkReader(inner, name, keys)
	if w, ok := f.live.Load(h.salt); ok {
		r.writer, _ = w.(*chunkWriter)
	}
	return r, nil
}
