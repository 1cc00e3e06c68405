package manifest

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/internal/checksum"
)

const (
	frameHeaderBytes = 12

	// maxFileBytes limits a manifest, which is read as a whole. More than a million tables fit.
	maxFileBytes = 1 << 30
)

// startFrame appends room for a frame's header. The caller then appends the payload and seals the
// frame.
func startFrame(dst []byte) []byte { return append(dst, make([]byte, frameHeaderBytes)...) }

// sealFrame fills in the header of a frame at the offset at.
func sealFrame(frame []byte, seed uint32, at int64) {
	payload := frame[frameHeaderBytes:]
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(frame[8:], checksum.Of(payload))
	binary.LittleEndian.PutUint32(frame, frameSum(frame, seed, at))
}

// frameSum returns the checksum of a frame's header, which ties it to the file and the offset.
func frameSum(frame []byte, seed uint32, at int64) uint32 {
	return checksum.Extend(seed^uint32(at), frame[checksum.Size:frameHeaderBytes])
}

// frameEnd returns where the frame at the offset at ends, which may be beyond the data; ok is false
// if its header is not valid.
func frameEnd(data []byte, seed uint32, at int64) (end int64, ok bool) {
	if int64(len(data))-at < frameHeaderBytes {
		return 0, false
	}
	p := data[at:]
	if binary.LittleEndian.Uint32(p) != frameSum(p, seed, at) {
		return 0, false
	}
	return at + frameHeaderBytes + int64(binary.LittleEndian.Uint32(p[4:])), true
}

// readFrame returns the payload and the end of the frame at the offset at; ok is false if the frame
// is not valid.
func readFrame(data []byte, seed uint32, at int64) (payload []byte, end int64, ok bool) {
	end, ok = frameEnd(data, seed, at)
	if !ok || end > int64(len(data)) {
		return nil, 0, false
	}
	payload = data[at+frameHeaderBytes : end]
	return payload, end, checksum.Of(payload) == binary.LittleEndian.Uint32(data[at+8:])
}

// findFrame returns the offset of the first frame after the offset at whose header is valid.
func findFrame(data []byte, seed uint32, at int64) (found int64, ok bool) {
	for found = at + 1; int64(len(data))-found >= frameHeaderBytes; found++ {
		if _, ok := frameEnd(data, seed, found); ok {
			return found, true
		}
	}
	return 0, false
}
