package wal

import (
	"encoding/binary"
	"strconv"

	"github.com/stoatdb/stoat/internal/checksum"
)

// HeaderBytes is the length of a frame's header. A frame passed to the log has this much room in
// front of its payload.
const HeaderBytes = 32

const kindAt = 24 // offset of a frame's kind in its header

// kind says which part of a transaction a frame is. Zero is not a kind: zeros are not a frame.
type kind uint32

const (
	whole kind = iota + 1
	first
	middle
	last

	kinds = 1 << 8 // all that any version may define
)

// kindOf returns the kind of a frame that starts its transaction, ends it, both, or neither.
func kindOf(starts, ends bool) kind {
	switch {
	case starts && ends:
		return whole
	case starts:
		return first
	case ends:
		return last
	}
	return middle
}

// String returns the kind's name, or its number if it is unknown.
func (k kind) String() string {
	if !k.valid() {
		return strconv.FormatUint(uint64(k), 10)
	}
	return [...]string{whole: "whole", first: "first", middle: "middle", last: "last"}[k]
}

func (k kind) valid() bool  { return k >= whole && k <= last }
func (k kind) starts() bool { return k == whole || k == first }
func (k kind) ends() bool   { return k == whole || k == last }

// frameHeader is the header of a frame, without its own checksum.
type frameHeader struct {
	length     uint32 // of the payload
	commit     uint64
	synced     uint64
	kind       kind
	payloadSum uint32
}

// end returns where the frame ends if it starts at the offset at.
func (h frameHeader) end(at int64) int64 { return at + HeaderBytes + int64(h.length) }

// put writes h to the first HeaderBytes of p, sealed for a frame at the offset at.
func (h frameHeader) put(p []byte, seed uint32, at int64) {
	binary.LittleEndian.PutUint32(p[4:], h.length)
	binary.LittleEndian.PutUint64(p[8:], h.commit)
	binary.LittleEndian.PutUint64(p[16:], h.synced)
	binary.LittleEndian.PutUint32(p[kindAt:], uint32(h.kind))
	binary.LittleEndian.PutUint32(p[28:], h.payloadSum)
	binary.LittleEndian.PutUint32(p, headerSum(p, seed, at))
}

// parseFrameHeader decodes the header at the start of p; ok is false unless it was sealed for the
// offset at.
func parseFrameHeader(p []byte, seed uint32, at int64) (h frameHeader, ok bool) {
	if binary.LittleEndian.Uint32(p) != headerSum(p, seed, at) {
		return frameHeader{}, false
	}
	return frameHeader{
		length:     binary.LittleEndian.Uint32(p[4:]),
		commit:     binary.LittleEndian.Uint64(p[8:]),
		synced:     binary.LittleEndian.Uint64(p[16:]),
		kind:       kind(binary.LittleEndian.Uint32(p[kindAt:])),
		payloadSum: binary.LittleEndian.Uint32(p[28:]),
	}, true
}

// headerSum returns the checksum of a frame's header. It depends on the file, by the seed, and on
// the offset: the same bytes elsewhere never have the same sum.
func headerSum(p []byte, seed uint32, at int64) uint32 {
	return checksum.Extend(seed^uint32(at)^uint32(at>>32), p[checksum.Size:HeaderBytes])
}
