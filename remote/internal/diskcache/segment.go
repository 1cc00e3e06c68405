package diskcache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	segmentSuffix  = folder.CacheSuffix
	segmentMagic   = "STOATRCS"
	segmentVersion = 2
	startBytes     = 48 // of a segment, before the first record
	headerBytes    = 48 // of a record
)

// segment is a file of records.
type segment struct {
	number uint64
	file   vfs.File
	size   int64    // up to which it was written
	pieces []*piece // in it, except those that were damaged later
}

// piece is a part of an object in a segment. Immutable but for used.
type piece struct {
	id     ID
	at     uint64 // in the object
	length uint32
	sum    uint32
	of     *segment
	offset int64 // of its data in the segment
	used   atomic.Bool
}

var (
	// errDamaged reports bytes that are not those that were written.
	errDamaged = errors.New("damaged")
	// errUnopened reports a segment that cannot be opened, which does not say what is in it.
	errUnopened = errors.New("the segment cannot be opened")
)

func segmentName(number uint64) string { return fmt.Sprintf("%06d%s", number, segmentSuffix) }

func segmentNumber(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	number, err := strconv.ParseUint(digits, 10, 63)
	return number, ok && err == nil && name == segmentName(number)
}

// segmentStart returns what a segment begins with.
func segmentStart(owner [32]byte) []byte {
	p := append([]byte(segmentMagic), segmentVersion, 0, 0, 0, 0, 0, 0, 0)
	p = append(p, owner[:]...)
	binary.LittleEndian.PutUint32(p[12:], checksum.Extend(checksum.Of(p[:12]), p[16:]))
	return p
}

func (p *piece) end() uint64 { return p.at + uint64(p.length) }

// appendRecord appends the record of a piece with the data, and sets the sum of the piece.
func appendRecord(dst []byte, p *piece, data []byte) []byte {
	h := p.header()
	p.sum = checksum.Extend(checksum.Of(h[8:]), data)
	binary.LittleEndian.PutUint32(h[4:], p.sum)
	binary.LittleEndian.PutUint32(h[:], checksum.Of(h[4:]))
	return append(append(dst, h[:]...), data...)
}

// header returns the header of the record without its checksums.
func (p *piece) header() (h [headerBytes]byte) {
	binary.LittleEndian.PutUint64(h[8:], p.id.Number)
	binary.LittleEndian.PutUint64(h[16:], p.at)
	binary.LittleEndian.PutUint32(h[24:], p.length)
	h[28] = byte(p.id.Kind)
	copy(h[32:], p.id.Maker[:])
	return h
}

// parseHeader returns the piece that a header is of.
func parseHeader(h []byte) (*piece, bool) {
	if binary.LittleEndian.Uint32(h) != checksum.Of(h[4:headerBytes]) {
		return nil, false
	}
	p := &piece{
		id:     ID{folder.Kind(h[28]), binary.LittleEndian.Uint64(h[8:]), [16]byte(h[32:])},
		at:     binary.LittleEndian.Uint64(h[16:]),
		length: binary.LittleEndian.Uint32(h[24:]),
		sum:    binary.LittleEndian.Uint32(h[4:]),
	}
	return p, p.length > 0 && p.at <= 1<<62
}

// read fills p with the data of the piece from skip on. All of the data is verified.
func (p *piece) read(dst []byte, skip uint64) error {
	data := dst
	if len(dst) < int(p.length) {
		data = make([]byte, p.length)
	}
	if _, err := p.of.file.ReadAt(data, p.offset); err != nil {
		return err
	}
	h := p.header()
	if checksum.Extend(checksum.Of(h[8:]), data) != p.sum {
		return errDamaged
	}
	if len(dst) < len(data) {
		copy(dst, data[skip:])
	}
	return nil
}

// readSegment opens a segment and returns the pieces in it, up to the first record that is not
// complete.
func (c *Cache) readSegment(number uint64) (s *segment, pieces []*piece, err error) {
	file, err := c.folder.Open(c.path(number))
	switch {
	case errors.Is(err, corrupt.Err), errors.Is(err, corrupt.ErrFormat): // it should be encrypted
		return nil, nil, err
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", errUnopened, err)
	}
	s = &segment{number: number, file: file}
	if s.size, err = file.Size(); err == nil {
		pieces, err = s.readRecords(segmentStart(c.config.Owner))
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return s, pieces, nil
}

func (s *segment) readRecords(start []byte) (pieces []*piece, err error) {
	var h [startBytes]byte
	if s.size < startBytes {
		return nil, errDamaged
	}
	if _, err := s.file.ReadAt(h[:], 0); err != nil {
		return nil, err
	}
	if string(h[:]) != string(start) {
		return nil, errDamaged
	}
	for at := int64(startBytes); at+headerBytes <= s.size; {
		if _, err := s.file.ReadAt(h[:headerBytes], at); err != nil {
			return nil, err
		}
		p, ok := parseHeader(h[:])
		if !ok || int64(p.length) > s.size-at-headerBytes {
			break
		}
		p.of, p.offset = s, at+headerBytes
		pieces = append(pieces, p)
		at = p.offset + int64(p.length)
	}
	return pieces, nil
}
