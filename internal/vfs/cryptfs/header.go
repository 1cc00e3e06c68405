package cryptfs

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	version     = 1
	headerBytes = 80
	tagBytes    = 16

	idAt   = 16
	saltAt = 24
	tagAt  = saltAt + saltBytes
	zeroAt = tagAt + tagBytes
	sumAt  = headerBytes - checksum.Size
)

// layout is how the bytes of a file are arranged.
type layout uint32

const (
	paged layout = iota + 1
	chunked
)

// newHeader returns a header for a new file, and the file's keys.
func newHeader(key *Key, l layout) (p []byte, keys fileKeys, err error) {
	p = make([]byte, headerBytes)
	copy(p, fileheader.Encrypted)
	binary.LittleEndian.PutUint32(p[8:], version)
	binary.LittleEndian.PutUint32(p[12:], uint32(l))
	copy(p[idAt:], key.id[:])
	if _, err := rand.Read(p[saltAt:tagAt]); err != nil {
		return nil, keys, err
	}
	return p, keys, key.seal(p, &keys)
}

// seal derives the keys of the file whose header is p, and puts tag and checksum into p.
func (k *Key) seal(p []byte, keys *fileKeys) (err error) {
	if *keys, err = k.derive(p[:saltAt], p[saltAt:tagAt]); err != nil {
		return err
	}
	n := nonce(0, nonceHeader)
	keys.aead.Seal(p[tagAt:tagAt], n[:], nil, p[:tagAt])
	binary.LittleEndian.PutUint32(p[sumAt:], checksum.Of(p[:sumAt]))
	return nil
}

// header is what a file starts with.
type header struct {
	layout layout
	id     [idBytes]byte
	salt   [saltBytes]byte
	raw    []byte // nil if the file was never begun
}

// readHeader reads the header of a file. If a crash or a full disk kept all of the file but a part
// of the header from the disk, its raw is nil.
func readHeader(file vfs.File, name string) (h header, err error) {
	p := make([]byte, headerBytes)
	n, err := file.ReadAt(p, 0)
	if n < len(p) && !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("read %s: %w", name, err)
	}
	written := bytes.TrimRight(p[:n], "\x00")
	magic := written[:min(len(written), len(fileheader.Encrypted))]
	switch {
	case len(written) == 0:
		return h, wantZeros(file, name, int64(n))
	case !bytes.HasPrefix([]byte(fileheader.Encrypted), magic):
		return h, foreign(name, p)
	case n < len(p):
		return h, nil
	case binary.LittleEndian.Uint32(p[sumAt:]) != checksum.Of(p[:sumAt]):
		if len(written) < len(p) { // as a full disk cuts it off, in front of what was preallocated
			return h, wantZeros(file, name, int64(n))
		}
		return h, corrupt.New(name, 0, "checksum of the header of an encrypted file does not match")
	case binary.LittleEndian.Uint32(p[8:]) > version:
		return h, fmt.Errorf("%s is encrypted by a newer version of Stoat: %w", name, corrupt.ErrFormat)
	}
	h = header{layout(binary.LittleEndian.Uint32(p[12:])), [idBytes]byte(p[idAt:]),
		[saltBytes]byte(p[saltAt:]), p}
	if binary.LittleEndian.Uint32(p[8:]) != version || h.layout != paged && h.layout != chunked ||
		binary.LittleEndian.Uint32(p[zeroAt:]) != 0 {
		return h, corrupt.New(name, 0, "the header of the encrypted file is not one")
	}
	return h, nil
}

// foreign returns the error for a file that does not start with the magic of encrypted ones.
func foreign(name string, p []byte) error {
	for _, kind := range fileheader.Kinds() {
		if bytes.HasPrefix(p, []byte(kind)) {
			return fmt.Errorf("%s is not encrypted, open the database without a key: %w", name,
				corrupt.ErrKey)
		}
	}
	return fmt.Errorf("%w: %w", corrupt.New(name, 0, "the file is not an encrypted one of Stoat"),
		corrupt.ErrFormat)
}

// wantZeros returns an error if a file has other bytes than zeros from an offset on: no content is
// written unless the header is, and none beyond the first sector before the header is durable.
func wantZeros(file vfs.File, name string, from int64) error {
	buffer := make([]byte, blockBytes)
	for at := from; ; at += int64(len(buffer)) {
		n, err := file.ReadAt(buffer, at)
		if len(bytes.TrimRight(buffer[:n], "\x00")) > 0 {
			return corrupt.New(name, 0, "the header of the encrypted file is lost")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
}

// keysOf returns the keys of a file.
func (k *Key) keysOf(h header, name string) (fileKeys, error) {
	if h.id != k.id {
		return fileKeys{}, fmt.Errorf("%s is encrypted with another key, %x: %w", name, h.id,
			corrupt.ErrKey)
	}
	keys, err := k.derive(h.raw[:saltAt], h.salt[:])
	if err != nil {
		return fileKeys{}, err
	}
	n := nonce(0, nonceHeader)
	if _, err := keys.aead.Open(nil, n[:], h.raw[tagAt:zeroAt], h.raw[:tagAt]); err != nil {
		return fileKeys{}, corrupt.New(name, 0, "the header of the encrypted file does not verify")
	}
	return keys, nil
}
