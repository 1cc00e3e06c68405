package cryptfs

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	names "github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// files is all files of a file system, or those of a folder.
type files struct {
	vfs.Files
	live *sync.Map                 // *chunkWriter by salt, while it is open
	keys func(dir string) *keyring // of a folder
}

// layoutOf returns the layout of the file with the given name; ok is false if it is passed through.
func layoutOf(name string) (l layout, ok bool) {
	if strings.HasSuffix(name, names.CacheSuffix) {
		return chunked, true
	}
	switch kind, _ := names.Parse(filepath.Base(name)); kind {
	case names.Table, names.Values:
		return paged, true
	case names.Log, names.Manifest, names.ManifestCopy:
		return chunked, true
	}
	return 0, false
}

// List implements vfs.Files. It hides the files with wrappings. The error matches corrupt.ErrKey if
// there are some, and the key does not open them.
func (f files) List(dir string) ([]string, error) {
	all, err := f.Files.List(dir)
	shown := slices.DeleteFunc(slices.Clone(all), isWrapping)
	if err == nil && len(shown) < len(all) {
		_, err = f.keys(dir).load()
	}
	return shown, err
}

func isWrapping(name string) bool {
	_, ok := names.ParseKey(name)
	return ok
}

// Create implements vfs.Files. Nothing is written before the first byte of the content, except the
// wrappings of a new folder.
func (f files) Create(name string) (vfs.File, error) {
	l, ok := layoutOf(name)
	if !ok {
		return f.Files.Create(name)
	}
	data, err := f.keys(filepath.Dir(name)).establish()
	if err != nil {
		return nil, err
	}
	inner, err := f.Files.Create(name)
	if err != nil {
		return nil, err
	}
	head, keys, err := data.newHeader(l)
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
	data, err := f.keys(filepath.Dir(name)).require()
	if err != nil {
		return nil, err
	}
	keys, err := data.keysOf(h, name)
	if err != nil {
		return nil, err
	}
	if h.layout == paged { // whatever the name: streams have all files as pages
		return newPageReader(inner, name, keys)
	}
	r := newChunkReader(inner, name, keys)
	if w, ok := f.live.Load(h.salt); ok {
		r.writer, _ = w.(*chunkWriter)
	}
	return r, nil
}
