package object

import (
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
)

const (
	pinMagic = "STOATRPN"
	// PinBytes is the size of a pin.
	PinBytes = 56
)

// Pin is somebody's need of a position in the log: nothing may be deleted that it takes to read the
// database as it was there.
type Pin struct {
	Database [16]byte
	Number   uint64 // of the log object that is the last one needed
	Commit   uint64 // the newest commit up to there
	Time     uint64 // of that log object, in milliseconds since 1970
}

// EncodePin returns the bytes of a pin.
func EncodePin(pin *Pin) []byte {
	p := make([]byte, 0, PinBytes)
	p = append(p, pinMagic...)
	p = binary.LittleEndian.AppendUint32(p, version)
	p = append(p, pin.Database[:]...)
	p = binary.LittleEndian.AppendUint64(p, pin.Number)
	p = binary.LittleEndian.AppendUint64(p, pin.Commit)
	p = binary.LittleEndian.AppendUint64(p, pin.Time)
	return binary.LittleEndian.AppendUint32(p, checksum.Of(p))
}

// DecodePin decodes a pin. The name is for errors.
func DecodePin(name string, p []byte) (*Pin, error) {
	if len(p) < 12 || string(p[:8]) != pinMagic {
		return nil, fmt.Errorf("%w: %w", corrupt.New(name, 0, "the object is not a pin of Stoat"),
			corrupt.ErrFormat)
	}
	if v := binary.LittleEndian.Uint32(p[8:]); v != version {
		return nil, fmt.Errorf("%s has version %d, written by a newer version of Stoat: %w", name, v,
			corrupt.ErrFormat)
	}
	if len(p) != PinBytes {
		return nil, corrupt.New(name, 0, "the pin has %d bytes, not %d", len(p), PinBytes)
	}
	if binary.LittleEndian.Uint32(p[PinBytes-checksum.Size:]) !=
		checksum.Of(p[:PinBytes-checksum.Size]) {
		return nil, corrupt.New(name, 0, "checksum of the pin does not match")
	}
	pin := &Pin{
		Database: [16]byte(p[12:]), Number: binary.LittleEndian.Uint64(p[28:]),
		Commit: binary.LittleEndian.Uint64(p[36:]), Time: binary.LittleEndian.Uint64(p[44:]),
	}
	if pin.Number == 0 || max(pin.Number, pin.Commit, pin.Time) > numberMax {
		return nil, corrupt.New(name, 0, "the pin is of number %d, commit %d, time %d", pin.Number,
			pin.Commit, pin.Time)
	}
	return pin, nil
}
