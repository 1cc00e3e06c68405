package replica

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
)

// Device is a key that signs what one device writes. It is immutable and safe for concurrent use.
// The zero Device has no key, and what needs one fails with an error: use [NewDevice] or
// [LoadDevice].
type Device struct{ key ed25519.PrivateKey }

// DeviceID is the public key of a device.
type DeviceID [32]byte

// NewDevice returns a device with a new key. Keep [Device.Key] in a safe place, and load it with
// [LoadDevice] when the program starts again.
func NewDevice() (*Device, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make the key of a device: %w", err)
	}
	return &Device{key}, nil
}

// LoadDevice returns the device whose secret key is what [Device.Key] returned.
func LoadDevice(key []byte) (*Device, error) {
	if len(key) != ed25519.SeedSize {
		return nil, fmt.Errorf("the key of a device has %d bytes, not %d", len(key), ed25519.SeedSize)
	}
	return &Device{ed25519.NewKeyFromSeed(key)}, nil
}

// errKeyless reports the zero Device.
var errKeyless = errors.New("the Device has no key: make it with NewDevice or LoadDevice")

// check returns an error unless the device is there and can sign.
func (d *Device) check() error {
	if d == nil {
		return errNoDevice
	}
	if len(d.key) == 0 {
		return errKeyless
	}
	return nil
}

// Key returns the secret key, 32 bytes. Anybody who has it can write in the name of the device. Of
// the zero Device, it is nil.
func (d *Device) Key() []byte {
	if len(d.key) == 0 {
		return nil
	}
	return d.key.Seed()
}

// ID returns the public key. Of the zero Device, it is zero.
func (d *Device) ID() (id DeviceID) {
	if len(d.key) > 0 {
		copy(id[:], d.key[ed25519.SeedSize:])
	}
	return id
}

// SpaceID identifies a space, on all replicas.
type SpaceID [32]byte

// LogID identifies a log of a space: what one device writes to one replica.
type LogID [32]byte

// ParseSpaceID returns the id whose String is text.
func ParseSpaceID(text string) (SpaceID, error) {
	p, err := hex.DecodeString(text)
	if err != nil || len(p) != len(SpaceID{}) {
		return SpaceID{}, errors.New("the id of a space has 64 hexadecimal digits")
	}
	return SpaceID(p), nil
}

// ParseDeviceID returns the id whose String is text.
func ParseDeviceID(text string) (DeviceID, error) {
	p, err := hex.DecodeString(text)
	if err != nil || len(p) != len(DeviceID{}) {
		return DeviceID{}, errors.New("the id of a device has 64 hexadecimal digits")
	}
	return DeviceID(p), nil
}

// String returns the id in hexadecimal.
func (id DeviceID) String() string { return hex.EncodeToString(id[:]) }

// String returns the id in hexadecimal.
func (id SpaceID) String() string { return hex.EncodeToString(id[:]) }

// String returns the id in hexadecimal.
func (id LogID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (id DeviceID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText implements [encoding.TextMarshaler].
func (id SpaceID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText implements [encoding.TextMarshaler].
func (id LogID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }
