package cryptfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Sealer encrypts files that are written to a stream, as pages. Safe for concurrent use.
type Sealer struct {
	key  *Key
	data *dataKey
}

// NewSealer returns a sealer with a random data key, which it wraps with key.
func NewSealer(key *Key) (*Sealer, error) {
	secret, err := random(KeyBytes)
	if err != nil {
		return nil, err
	}
	data, err := key.newDataKey(secret)
	return &Sealer{key, data}, err
}

// Sealer returns a sealer with the key of the file system, and the data key of the folder that was
// opened last.
func (f *FS) Sealer() (*Sealer, error) {
	if ring := f.last.Load(); ring != nil {
		if data := ring.known(); data != nil {
			return &Sealer{f.key, data}, nil
		}
	}
	return NewSealer(f.key)
}

// Wrappings returns the contents of the files with the wrapped data key, as many as a folder has.
func (s *Sealer) Wrappings() ([][]byte, error) {
	all := make([][]byte, copies)
	for i := range all {
		var err error
		if all[i], err = s.key.wrap(s.data); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Size returns how long the file with so much content is.
func (s *Sealer) Size(content int64) int64 {
	stored := content + headerBytes
	return stored + (stored+pageData-1)/pageData*tagBytes
}

// Seal returns what writes a file to w, given its content, front to back. Close ends the file.
func (s *Sealer) Seal(w io.Writer) (io.WriteCloser, error) {
	head, keys, err := s.data.newHeader(paged)
	if err != nil {
		return nil, err
	}
	return &sealedWriter{pages: newPageWriter(&appended{w: w}, "stream", head, keys)}, nil
}

// sealedWriter writes an encrypted file to a stream.
type sealedWriter struct{ pages *pageWriter }

// Write implements io.Writer.
func (w *sealedWriter) Write(p []byte) (int, error) { return w.pages.WriteAt(p, w.pages.size) }

// Close implements io.Closer.
func (w *sealedWriter) Close() error { return w.pages.end() }

// appended is a file to which a page writer only appends.
type appended struct {
	vfs.File // nil
	w        io.Writer
}

// WriteAt implements io.WriterAt for the end of what was written.
func (a *appended) WriteAt(p []byte, _ int64) (int, error) { return a.w.Write(p) }

// StartSync implements vfs.File.
func (a *appended) StartSync(int64, int64) {}

// Opener decrypts what a Sealer has encrypted. Not safe for concurrent use.
type Opener struct {
	key  *Key
	data *dataKey // nil until it is unwrapped
}

// NewOpener returns an opener for files under a key.
func NewOpener(key *Key) *Opener { return &Opener{key: key} }

// Unwrap takes one of what Sealer.Wrappings returned. The error matches corrupt.ErrKey if that was
// for another key.
func (o *Opener) Unwrap(name string, content []byte) (err error) {
	o.data, err = o.key.unwrapped(name, content)
	return err
}

// Open returns what reads the content of a file with so many bytes, which r reads, and how much
// content it has. The name is for errors. Unwrap must have been called.
func (o *Opener) Open(name string, r io.Reader, stored int64) (io.Reader, int64, error) {
	var head [headerBytes]byte
	if stored < headerBytes+tagBytes {
		return nil, 0, corrupt.New(name, stored, "the encrypted file is cut off")
	}
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, 0, unexpected(err)
	}
	h, err := readHeader(bytes.NewReader(head[:]), name)
	if err == nil && (h.raw == nil || h.layout != paged) {
		err = corrupt.New(name, 0, "the header of the encrypted file is not one of a stream")
	}
	if err != nil {
		return nil, 0, err
	}
	keys, err := o.data.keysOf(h, name)
	if err != nil {
		return nil, 0, err
	}
	pages, err := newStoredReader(nil, name, keys, stored)
	if err != nil {
		return nil, 0, err
	}
	return &openedReader{r: r, pages: pages, page: make([]byte, pageBytes)}, pages.size, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read an encrypted file: %w", err)
}

// openedReader reads the content of an encrypted file in a stream.
type openedReader struct {
	r     io.Reader // behind the header
	pages *pageReader
	page  []byte
	nonce [nonceBytes]byte
	next  int64  // the number of the next page
	rest  []byte // of the content of the page before
}

// Read implements io.Reader.
func (o *openedReader) Read(p []byte) (int, error) {
	for len(o.rest) == 0 {
		left := o.pages.stored - o.next*pageBytes
		if left <= 0 {
			return 0, io.EOF
		}
		page, head := o.page[:min(left, pageBytes)], 0
		if o.next == 0 {
			head = headerBytes
		}
		if _, err := io.ReadFull(o.r, page[head:]); err != nil {
			return 0, unexpected(err)
		}
		content, err := o.pages.open(page, o.next, &o.nonce)
		if err != nil {
			return 0, err
		}
		o.rest, o.next = content[head:], o.next+1
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}
