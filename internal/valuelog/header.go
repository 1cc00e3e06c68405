package valuelog

import (
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
)

const (
	magic       = "STOATVAL"
	version     = 1
	headerBytes = 48
)

// header is what a value file says about itself.
type header struct {
	number   uint64
	database [16]byte
}

func (h header) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint64(dst, h.number)
	dst = append(dst, h.database[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, checksum.Of(dst[start:]))
}

// check reports what is wrong with the headerBytes bytes of a file that should be h, or nil. Bytes
// that say that they are another version's are of unknown format, those that say that they are
// another program's are damage, too; everything else is damage only.
func (h header) check(path string, p []byte) error {
	const end = headerBytes - checksum.Size
	if string(p[:len(magic)]) != magic {
		return fmt.Errorf("%w: %w", corrupt.New(path, 0, "this is not a value file"), corrupt.ErrFormat)
	}
	if checksum.Of(p[:end]) != binary.LittleEndian.Uint32(p[end:]) {
		return corrupt.New(path, 0, "checksum of the header does not match")
	}
	if v := binary.LittleEndian.Uint32(p[len(magic):]); v != version {
		return fmt.Errorf("%s has version %d, written by a newer version of Stoat: %w", path, v,
			corrupt.ErrFormat)
	}
	if string(p) != string(h.append(nil)) {
		return corrupt.New(path, 0, "header belongs to another file")
	}
	return nil
}
