package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Limits of packed frames.
const (
	unpackedMax = 1 << 20  // bytes of the frames in one
	packMin     = 1 << 10  // bytes that are worth packing
	packFirst   = 96 << 10 // bytes that are packed together at first
)

// These are shared by all sessions, which use them for a moment each, so that a session has no
// memory of its own for packing. They are immutable after the first use, but for what is in the
// pools, and safe for concurrent use.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(unpackedMax), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(unpackedMax),
			zstd.WithDecoderMaxWindow(unpackedMax), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderLowmem(true))
	})
	unpacked = sync.Pool{New: func() any { // each of unpackedMax bytes: small frames do not grow it
		p := make([]byte, 0, unpackedMax)
		return &p
	}}
	unpackers = sync.Pool{New: func() any { return new(chunk.Unpacker) }}
)

// packer packs frames. It finds out how many of them fit into one. It is not safe for concurrent
// use.
type packer struct {
	target int // bytes that are packed together
}

// pack appends frames, packed where that makes them smaller. Those of the handshake never are.
func (p *packer) pack(dst, frames []byte) ([]byte, error) {
	for len(frames) > 0 && kind(frames[0]) <= frameAuth {
		_, _, after, err := cutFrame(frames)
		if err != nil {
			return dst, err
		}
		dst, frames = append(dst, frames[:len(frames)-len(after)]...), after
	}
	if len(frames) < packMin {
		return append(dst, frames...), nil
	}
	z, err := encoder()
	if err != nil {
		return dst, err
	}
	if p.target == 0 {
		p.target = packFirst
	}
	for len(frames) > 0 {
		n, err := group(frames, p.target)
		if err != nil {
			return dst, err
		}
		packed := z.EncodeAll(frames[:n], nil)
		switch {
		case len(packed) <= FrameMax && len(packed) < n:
			dst = appendFrame(dst, framePacked, packed)
		default:
			dst = append(dst, frames[:n]...)
		}
		switch {
		case len(packed) > FrameMax:
			p.target = max(p.target/2, FrameMax)
		case n >= p.target && len(packed) < FrameMax/2:
			p.target = min(p.target*2, unpackedMax/2)
		}
		frames = frames[n:]
	}
	return dst, nil
}

// group returns the size of the frames at the beginning that have about the target size: less, or
// one frame.
func group(frames []byte, target int) (size int, err error) {
	for rest := frames; len(rest) > 0; {
		_, _, after, err := cutFrame(rest)
		if err != nil {
			return 0, err
		}
		n := len(frames) - len(after)
		if size > 0 && n > target {
			break
		}
		size, rest = n, after
	}
	return size, nil
}

// cutFrame returns the first of some frames, and those behind it.
func cutFrame(p []byte) (k kind, payload, rest []byte, err error) {
	if len(p) == 0 {
		return 0, nil, nil, errCutFrame
	}
	n, size := binary.Uvarint(p[1:])
	if size <= 0 || size != wire.UvarintLen(n) || n > FrameMax || n > uint64(len(p)-1-size) {
		return 0, nil, nil, errCutFrame
	}
	end := 1 + size + int(n)
	return kind(p[0]), p[1+size : end : end], p[end:], nil
}

// errCutFrame reports bytes that are not frames.
var errCutFrame = errors.New("a frame that is cut off, or longer than it may be")

// unpack handles the frames in a packed one.
func (s *Session) unpack(p []byte) error {
	z, err := decoder()
	if err != nil {
		return err
	}
	buf := unpacked.Get().(*[]byte)
	defer unpacked.Put(buf)
	frames, err := z.DecodeAll(p, *buf)
	if err != nil {
		return broken("a packed frame: %w", err)
	}
	for len(frames) > 0 {
		var k kind
		var payload []byte
		if k, payload, frames, err = cutFrame(frames); err != nil {
			return broken("in a packed frame: %w", err)
		}
		if k == framePacked || k == frameBye {
			return broken("a frame of type %d in a packed one", k)
		}
		payload = bytes.Clone(payload) // may wait for long, and would keep all of frames
		if err := s.handle(k, payload); err != nil {
			return err
		}
	}
	return nil
}
