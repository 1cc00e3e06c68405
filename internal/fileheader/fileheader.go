// Package fileheader is the 48-byte header with which every file of a database starts, except the
// lock file.
//
// All integers are little-endian:
//
//	 0  magic     8 bytes, the [Kind]
//	 8  version   u32, 1
//	12  zero      u32
//	16  number    u64, the number in the file's name
//	24  database  16 bytes, the database's identity
//	40  zero      u32
//	44  checksum  u32, CRC-32C of the 44 bytes before
//
// A wrong magic or a higher version is an unknown format. Whatever is wrong, except a higher
// version, is damage. The format of the file says whether a header that was never completely
// written matters. Headers are values, and the functions are safe for concurrent use.
package fileheader

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
)

const (
	// Size is the length of a header in bytes.
	Size = 48
	// PrefixSize is the length of what [Header.Prefix] returns.
	PrefixSize = 40

	version = 1

	versionAt  = 8
	numberAt   = 16
	databaseAt = 24
	sumAt      = Size - checksum.Size
)

// Kind says what kind of file a header belongs to. It is the magic that the file starts with.
type Kind string

// The kinds of files.
const (
	Log      Kind = "STOATLOG"
	Manifest Kind = "STOATMAN"
	Table    Kind = "STOATTAB"
	Values   Kind = "STOATVAL"
)

// Encrypted is the magic of a file of any kind that is encrypted, by package cryptfs.
const Encrypted = "STOATENC"

// EncryptedObject is the magic of a page of an object that is encrypted, by package cryptstore.
const EncryptedObject = "STOATENO"

// Wrapping is the magic of a file of a wrapped key, of package cryptfs.
const Wrapping = "STOATKEY"

// Kinds returns all kinds.
func Kinds() [4]Kind { return [...]Kind{Log, Manifest, Table, Values} }

// String returns what people call a file of this kind.
func (k Kind) String() string {
	switch k {
	case Log:
		return "log segment"
	case Manifest:
		return "manifest"
	case Table:
		return "table"
	case Values:
		return "value file"
	}
	return "unknown file"
}

// foreign returns the error for a file that starts with another magic: another program may have
// written it, or the magic is damaged.
func (k Kind) foreign(path string, p []byte) error {
	if bytes.HasPrefix(p, []byte(Encrypted)) {
		return fmt.Errorf("%s is encrypted, open the database with its key: %w", path, corrupt.ErrKey)
	}
	return fmt.Errorf("%w: %w", corrupt.New(path, 0, "the file is not a %s of Stoat", k),
		corrupt.ErrFormat)
}

// Header identifies a file.
type Header struct {
	Kind     Kind
	Number   uint64   // in the file's name
	Database [16]byte // the identity of its database
}

// New returns the header of a file.
func New(kind Kind, number uint64, database [16]byte) Header {
	return Header{Kind: kind, Number: number, Database: database}
}

// Bytes returns the encoded header.
func (h Header) Bytes() (p [Size]byte) {
	copy(p[:], h.Kind)
	binary.LittleEndian.PutUint32(p[versionAt:], version)
	binary.LittleEndian.PutUint64(p[numberAt:], h.Number)
	copy(p[databaseAt:], h.Database[:])
	binary.LittleEndian.PutUint32(p[sumAt:], checksum.Of(p[:sumAt]))
	return p
}

// Prefix returns the header without its last zero word and its checksum. Tables repeat it in their
// footer.
func (h Header) Prefix() []byte {
	p := h.Bytes()
	return p[:PrefixSize]
}

// Seed returns the checksum of the header. The checksums of frames in the file start from it.
func (h Header) Seed() uint32 {
	p := h.Bytes()
	return checksum.Of(p[:sumAt])
}

// Parse parses the header that p, the beginning of the file at path, starts with. If the header was
// cut off, or its checksum does not match, sealed is false and h is empty. It is an error if the
// file is of another kind or version.
func Parse(path string, p []byte, kind Kind) (h Header, sealed bool, err error) {
	magic := bytes.TrimRight(p[:min(len(p), len(kind))], "\x00")
	if !strings.HasPrefix(string(kind), string(magic)) {
		return Header{}, false, kind.foreign(path, p)
	}
	f := ParseFields(p)
	switch {
	case !f.Sealed:
		return Header{}, false, nil
	case f.Version != version:
		return Header{}, false, fmt.Errorf("%s has version %d, written by a newer version of Stoat: %w",
			path, f.Version, corrupt.ErrFormat)
	case !f.Reserved:
		return Header{}, false, corrupt.New(path, 0, "reserved bytes of the header are not zero")
	}
	return f.Header, true, nil
}

// Check returns an error unless p, the beginning of the file at path, starts with h.
func (h Header) Check(path string, p []byte) error {
	got, sealed, err := Parse(path, p, h.Kind)
	switch {
	case err != nil:
		return err
	case !bytes.HasPrefix(p, []byte(h.Kind)): // a cut-off magic, which Parse lets pass
		return h.Kind.foreign(path, p)
	case !sealed:
		return corrupt.New(path, 0, "checksum of the header does not match")
	case got != h:
		return corrupt.New(path, 0, "header belongs to another file")
	}
	return nil
}

// CutOff reports whether p, the beginning of a file, shows a crash that stopped the writing of h:
// from some byte on the header is missing or zero.
func (h Header) CutOff(p []byte) bool {
	want := h.Bytes()
	p = p[:min(len(p), Size)]
	written := bytes.TrimRight(p, "\x00")
	return !bytes.Equal(p, want[:]) && bytes.HasPrefix(want[:], written)
}

// Fields is what the bytes of a header say, whether or not they are right. It is for programs that
// read damaged files.
type Fields struct {
	Header
	Version  uint32
	Reserved bool // the reserved bytes are zero
	Sealed   bool // the header is complete and its checksum matches
}

// ParseFields returns what the header that p starts with says. If p is shorter than a header, the
// result is empty.
func ParseFields(p []byte) Fields {
	if len(p) < Size {
		return Fields{}
	}
	computed, stored := Seeds(p)
	return Fields{
		Header: Header{
			Kind:     Kind(p[:versionAt]),
			Number:   binary.LittleEndian.Uint64(p[numberAt:]),
			Database: [16]byte(p[databaseAt:]),
		},
		Version: binary.LittleEndian.Uint32(p[versionAt:]),
		Reserved: binary.LittleEndian.Uint32(p[versionAt+4:]) == 0 &&
			binary.LittleEndian.Uint32(p[PrefixSize:]) == 0,
		Sealed: computed == stored,
	}
}

// Newer reports whether a newer version of Stoat wrote the header.
func (f Fields) Newer() bool { return f.Version > version }

// Current reports whether this version of Stoat may have written the header.
func (f Fields) Current() bool { return f.Version == version && f.Reserved }

// Seeds returns the checksum that the header at the start of p should have, and the one that it
// has. In a damaged header either may be the seed of the file's frames. p must not be shorter than
// a header.
func Seeds(p []byte) (computed, stored uint32) {
	return checksum.Of(p[:sumAt]), binary.LittleEndian.Uint32(p[sumAt:])
}
