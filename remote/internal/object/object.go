// Package object encodes the objects that a database in object storage consists of, except its
// tables and value files: log objects ([Log]) and states ([State]), and, in a few bytes with a
// checksum, pins ([Pin]) and the drafts of clones ([Draft]). docs/remote-format.md describes the
// bytes.
//
// Log objects and states are a header and a payload, which may be compressed. The header identifies
// the object: its database, number, epoch, id and predecessor. A checksum covers the header, and
// another one the payload.
//
// Decoding uses no byte before its checksum is verified, allocates nothing by a number that it has
// not checked, and returns errors that match corrupt.Err, or corrupt.ErrFormat for objects of other
// programs and newer versions.
//
// What is decoded may alias the bytes it was decoded from. A [Codec] is safe for concurrent use.
// The package knows nothing of stores, and not whether an object continues the log.
package object

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
)

const (
	// HeaderBytes is the length of the header of an object.
	HeaderBytes = 104
	// LogBytesMax is the size of the largest log object, unless it has an edit and no commits. The
	// time that it takes to store one is the time that commits wait.
	LogBytesMax = 8 << 20
	// EditBytesMax is the size of the largest log object with an edit and no commits. An edit cannot
	// be divided: as large as a state, so a database of any size that has a state can come in one.
	EditBytesMax = StateBytesMax
	// StateBytesMax is the size of the largest state, compressed or not. Two million tables fit.
	StateBytesMax = 256 << 20

	// version is that of all objects except those with an origin that has an id of a log object, and
	// barriers: so nothing else refuses programs that do not know these.
	version         = 1
	versionAtOrigin = 2
	versionBarrier  = 3

	versionAt  = 8
	databaseAt = 16
	numberAt   = 32
	epochAt    = 40
	idAt       = 48
	previousAt = 64
	timeAt     = 80
	lengthAt   = 88
	sizeAt     = 92 // of the payload once decompressed; 0 if it is not compressed
	payloadAt  = 96 // the payload's checksum
	sumAt      = HeaderBytes - checksum.Size
)

// kind is the kind of an object: the magic that it starts with.
type kind string

const (
	logKind   kind = "STOATRLG"
	stateKind kind = "STOATRST"
)

// String returns what people call an object of this kind.
func (k kind) String() string {
	if k == logKind {
		return "log object"
	}
	return "state"
}

// rawMax is the most that the payload of an object may hold once decompressed, and storedMax the
// size of the largest object as stored, with its header.
const rawMax, storedMax = StateBytesMax, StateBytesMax

// expandedMax is the most that a payload of storedBytes may decompress to. It bounds what a reader
// allocates for a small object.
func (k kind) expandedMax(storedBytes int) int {
	least := 1 << 20
	if k == logKind {
		least = logRawMax
	}
	return max(least, min(storedBytes, rawMax/64)*64)
}

// ID identifies an object: random bits that its writer has drawn. The zero ID means no object.
type ID [16]byte

// Header says where in a database's history an object belongs.
type Header struct {
	Database [16]byte
	Number   uint64 // of the log object, or of the log object after which the state is; from 1 on
	Epoch    uint64 // of the newest claim up to there
	ID       ID     // of the log object, or of the one after which the state is
	Previous ID     // of the log object before it that counts; zero for the first, and in a state
	Time     uint64 // in milliseconds since 1970 by the writer's clock; never less than before
}

// put encodes the header of an object of a version into its beginning. Its payload was compressed
// from rawBytes, or was not if that is 0.
func (h *Header) put(p []byte, k kind, version uint32, rawBytes int) {
	payload := p[HeaderBytes:]
	copy(p, k)
	binary.LittleEndian.PutUint32(p[versionAt:], version)
	copy(p[databaseAt:], h.Database[:])
	binary.LittleEndian.PutUint64(p[numberAt:], h.Number)
	binary.LittleEndian.PutUint64(p[epochAt:], h.Epoch)
	copy(p[idAt:], h.ID[:])
	copy(p[previousAt:], h.Previous[:])
	binary.LittleEndian.PutUint64(p[timeAt:], h.Time)
	binary.LittleEndian.PutUint32(p[lengthAt:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(p[sizeAt:], uint32(rawBytes))
	binary.LittleEndian.PutUint32(p[payloadAt:], checksum.Of(payload))
	binary.LittleEndian.PutUint32(p[sumAt:], checksum.Of(p[:sumAt]))
}

// parse returns the header and the stored payload of the object in p, which has the given name, and
// how many bytes the payload has once decompressed, or 0 if it is not compressed.
func parse(name string, p []byte, k kind) (h Header, payload []byte, rawBytes int, err error) {
	h, err = parseHeader(name, p, k)
	if err != nil {
		return h, nil, 0, err
	}
	payload = p[HeaderBytes:]
	size := binary.LittleEndian.Uint32(p[sizeAt:])
	switch {
	case uint64(binary.LittleEndian.Uint32(p[lengthAt:])) != uint64(len(payload)):
		err = corrupt.New(name, 0, "the payload has %d bytes, and the header says %d", len(payload),
			binary.LittleEndian.Uint32(p[lengthAt:]))
	case binary.LittleEndian.Uint32(p[payloadAt:]) != checksum.Of(payload):
		err = corrupt.New(name, HeaderBytes, "checksum of the payload does not match")
	case size > rawMax:
		err = corrupt.New(name, 0, "the payload holds %d bytes, at most %d", size, rawMax)
	}
	return h, payload, int(size), err
}

// parseHeader returns the header of the object that p is the beginning of.
func parseHeader(name string, p []byte, k kind) (h Header, err error) {
	if bytes.HasPrefix(p, []byte(fileheader.EncryptedObject)) {
		return h, fmt.Errorf("%s is encrypted, open the store with cryptstore.Open: %w",
			name, corrupt.ErrKey)
	}
	if len(p) < versionAt || string(p[:versionAt]) != string(k) {
		return h, fmt.Errorf("%w: %w",
			corrupt.New(name, 0, "the object is not a %s of Stoat", k), corrupt.ErrFormat)
	}
	if len(p) < HeaderBytes {
		return h, corrupt.New(name, 0, "the object has %d bytes, less than a header", len(p))
	}
	if binary.LittleEndian.Uint32(p[sumAt:]) != checksum.Of(p[:sumAt]) {
		return h, corrupt.New(name, 0, "checksum of the header does not match")
	}
	if v := versionOf(p); v < version || v > versionBarrier {
		return h, fmt.Errorf("%s has version %d, written by a newer version of Stoat: %w", name,
			v, corrupt.ErrFormat)
	}
	if binary.LittleEndian.Uint32(p[versionAt+4:]) != 0 {
		return h, corrupt.New(name, 0, "reserved bytes of the header are not zero")
	}
	h = Header{
		Database: [16]byte(p[databaseAt:]),
		Number:   binary.LittleEndian.Uint64(p[numberAt:]),
		Epoch:    binary.LittleEndian.Uint64(p[epochAt:]),
		ID:       ID(p[idAt:]),
		Previous: ID(p[previousAt:]),
		Time:     binary.LittleEndian.Uint64(p[timeAt:]),
	}
	if bad := h.check(k); bad != nil {
		return h, corrupt.New(name, 0, "%v", bad)
	}
	return h, nil
}

// versionOf returns the version of an object with a header.
func versionOf(p []byte) uint32 { return binary.LittleEndian.Uint32(p[versionAt:]) }

// wantVersion returns an error if an object does not have the version of what it holds.
func wantVersion(p []byte, want uint32) error {
	if v := versionOf(p); v != want {
		return fmt.Errorf("the version is %d, and what the object holds has %d", v, want)
	}
	return nil
}

// DecodeLogHeader returns the header of a log object, of which p is at least the first
// [HeaderBytes]. The name is for errors.
func DecodeLogHeader(name string, p []byte) (Header, error) {
	return parseHeader(name, p, logKind)
}

// DecodeStateHeader returns the header of a state, of which p is at least the first [HeaderBytes].
// The name is for errors.
func DecodeStateHeader(name string, p []byte) (Header, error) {
	return parseHeader(name, p, stateKind)
}

// numberMax limits the numbers of objects, epochs and commits. It leaves room to count on.
const numberMax = 1 << 62

// check returns an error if no writer makes such a header. An object with one must not be stored,
// because no reader could go past it.
func (h *Header) check(k kind) error {
	switch {
	case h.Number == 0 || max(h.Number, h.Epoch, h.Time) > numberMax:
		return fmt.Errorf("the number is %d, the epoch %d, the time %d", h.Number, h.Epoch,
			h.Time)
	case h.Epoch == 0:
		return fmt.Errorf("number %d has no epoch", h.Number)
	case h.ID == ID{}:
		return fmt.Errorf("the object has no id")
	case (h.Previous == ID{}) != (h.Number == 1 || k == stateKind) || h.Previous == h.ID:
		return fmt.Errorf("the predecessor of number %d is %x", h.Number, h.Previous)
	}
	return nil
}
