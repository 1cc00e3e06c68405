package cryptfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
)

// magic is what each encrypted file starts with.
const magic = fileheader.Encrypted

const (
	version     = 1
	headerBytes = 80
	tagBytes    = 16
	nonceBytes  = 12

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

// header is what a file starts with.
type header struct {
	layout layout
	id     [idBytes]byte
	salt   [saltBytes]byte
	raw    []byte // nil if the file was never begun
}

// readHeader reads the header of a file. If a crash or a full disk kept all of the file but a part
// of the header from the disk, its raw is nil.
func readHeader(file io.ReaderAt, name string) (h header, err error) {
	p := make([]byte, headerBytes)
	n, err := file.ReadAt(p, 0)
	if n < len(p) && !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("read %s: %w", name, err)
	}
	written := bytes.TrimRight(p[:n], "\x00")
	first := written[:min(len(written), len(magic))]
	switch {
	case len(written) == 0:
		return h, wantZeros(file, name, int64(n))
	case !bytes.HasPrefix([]byte(magic), first):
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

func notEncrypted(name string) error {
	return fmt.Errorf("%s is not encrypted, open the database without a key: %w", name, corrupt.ErrKey)
}

// foreign returns the error for a file that does not start with the magic of encrypted ones.
func foreign(name string, p []byte) error {
	if isPlain(string(p)) {
		return notEncrypted(name)
	}
	return fmt.Errorf("%w: %w", corrupt.New(name, 0, "the file is not an encrypted one of Stoat"),
		corrupt.ErrFormat)
}

// wantZeros returns an error if a file has other bytes than zeros from an offset on: no content is
// written unless the header is, and none beyond the first sector before the header is durable.
func wantZeros(file io.ReaderAt, name string, from int64) error {
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
