package object

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
)

// OriginNameBytesMax is the length of the longest name of an origin.
const OriginNameBytesMax = 255

// Origin is the database that another one was cloned from, as it was then: its files of the epochs
// up to there may be those of the clone, too. The zero value means none.
type Origin struct {
	First  ID     // of the first object of its log, which only copies of its store have, too
	Number uint64 // of the log object after which it was cloned
	At     ID     // of that object; zero in objects of version 1
	Epoch  uint64 // of the newest claim up to there
	Commit uint64 // the newest commit that the clone has of it
	Nested bool   // it had an origin itself
	Name   string // for people: where it is
}

// The flags of an origin.
const (
	flagNested = 1 // it had an origin itself
	flagAt     = 2 // the id of the log object follows
	flagsAll   = flagNested | flagAt
)

// append encodes an origin that is not the zero value.
func (o *Origin) append(dst []byte) []byte {
	flags := uint64(0)
	if o.Nested {
		flags |= flagNested
	}
	if o.At != (ID{}) {
		flags |= flagAt
	}
	dst = appendUvarints(append(dst, o.First[:]...), o.Number, o.Epoch, o.Commit, flags)
	dst = appendBytes(dst, []byte(o.Name))
	if flags&flagAt != 0 {
		dst = append(dst, o.At[:]...)
	}
	return dst
}

// origin decodes an origin.
func (d *decoder) origin() *Origin {
	o := &Origin{First: d.id(), Number: d.number(), Epoch: d.number(), Commit: d.number()}
	flags := d.number()
	if flags > flagsAll {
		d.fail("the flags of the origin are %d", flags)
	}
	o.Nested, o.Name = flags&flagNested != 0, string(d.bytes())
	if flags&flagAt != 0 {
		if o.At = d.id(); o.At == (ID{}) {
			d.fail("the log object of the origin has no id")
		}
	}
	return o
}

// version returns the version of objects with the origin; nil is none.
func (o *Origin) version() uint32 {
	if o == nil || o.At == (ID{}) {
		return version
	}
	return versionAtOrigin
}

// verify returns an error if no database has such an origin; nil is none.
func (o *Origin) verify() error {
	switch {
	case o == nil:
		return nil
	case o.First == ID{}:
		return errors.New("the origin has no id")
	case o.Number == 0 || o.Epoch == 0 || max(o.Number, o.Epoch, o.Commit) > numberMax:
		return fmt.Errorf("the origin is at number %d, epoch %d, commit %d", o.Number, o.Epoch, o.Commit)
	case len(o.Name) > OriginNameBytesMax:
		return fmt.Errorf("the name of the origin has %d bytes, at most %d", len(o.Name),
			OriginNameBytesMax)
	}
	return nil
}

const (
	draftMagic = "STOATROR"
	// DraftBytes is the size of a draft.
	DraftBytes = 64
)

// Draft says which clone a store is about to get, so that a try which was interrupted is gone on
// with: the pin in the other store has the name of the clone.
type Draft struct {
	Database [16]byte
	Origin   ID // of the first object of the log that is cloned
	ID       ID // of the first object of the clone's log
}

// EncodeDraft returns the bytes of a draft.
func EncodeDraft(d *Draft) []byte {
	p := make([]byte, 0, DraftBytes)
	p = append(p, draftMagic...)
	p = binary.LittleEndian.AppendUint32(p, version)
	p = append(p, d.Database[:]...)
	p = append(p, d.Origin[:]...)
	p = append(p, d.ID[:]...)
	return binary.LittleEndian.AppendUint32(p, checksum.Of(p))
}

// DecodeDraft decodes a draft. The name is for errors.
func DecodeDraft(name string, p []byte) (*Draft, error) {
	if len(p) < 12 || string(p[:8]) != draftMagic {
		return nil, fmt.Errorf("%w: %w", corrupt.New(name, 0, "the object is not the draft of a clone"),
			corrupt.ErrFormat)
	}
	if v := binary.LittleEndian.Uint32(p[8:]); v != version {
		return nil, fmt.Errorf("%s has version %d, written by a newer version of Stoat: %w", name, v,
			corrupt.ErrFormat)
	}
	if len(p) != DraftBytes {
		return nil, corrupt.New(name, 0, "the draft has %d bytes, not %d", len(p), DraftBytes)
	}
	const sumAt = DraftBytes - checksum.Size
	if binary.LittleEndian.Uint32(p[sumAt:]) != checksum.Of(p[:sumAt]) {
		return nil, corrupt.New(name, 0, "checksum of the draft does not match")
	}
	d := &Draft{Database: [16]byte(p[12:]), Origin: ID(p[28:]), ID: ID(p[44:])}
	if d.Origin == (ID{}) || d.ID == (ID{}) || d.ID == d.Origin {
		return nil, corrupt.New(name, 0, "the draft has the ids %x and %x", d.Origin, d.ID)
	}
	return d, nil
}
