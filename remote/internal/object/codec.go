package object

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
)

const (
	// compressBytes is the size of the smallest payload that is worth compressing.
	compressBytes = 128
)

// Codec encodes and decodes objects. It holds a compressor and a decompressor of some megabytes, so
// a process should share one. Safe for concurrent use.
type Codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// NewCodec returns a codec.
func NewCodec() (*Codec, error) {
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false)) // the object has a checksum
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(StateBytesMax),
		zstd.WithDecodeAllCapLimit(true)) // never grows the buffer it is given
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	return &Codec{encoder, decoder}, nil
}

// ErrTooLarge reports what is too much for one object.
var ErrTooLarge = errors.New("too much for one object")

// seal makes an object of a version, of room for a header and the payload behind it, which is
// compressed if that makes it smaller and readers accept it. The result may share the memory of
// object.
func (c *Codec) seal(h *Header, k kind, version uint32, object []byte) ([]byte, error) {
	payload := object[HeaderBytes:]
	if len(payload) > rawMax {
		return nil, fmt.Errorf("encode %s %d: its payload has %d bytes, at most %d: %w", k, h.Number,
			len(payload), rawMax, ErrTooLarge)
	}
	rawBytes := 0
	if len(payload) >= compressBytes && !block.LooksRandom(payload) {
		small := c.encoder.EncodeAll(payload, make([]byte, HeaderBytes))
		if len(small) < len(object) && len(payload) <= k.expandedMax(len(small)-HeaderBytes) {
			object, rawBytes = small, len(payload)
		}
	}
	if len(object) > storedMax {
		return nil, fmt.Errorf("encode %s %d: it has %d bytes, at most %d: %w", k, h.Number,
			len(object), storedMax, ErrTooLarge)
	}
	h.put(object, k, version, rawBytes)
	return object, nil
}

// open returns the header and the decompressed payload of an object.
func (c *Codec) open(name string, p []byte, k kind) (Header, []byte, error) {
	if len(p) > storedMax {
		return Header{}, nil, corrupt.New(name, 0, "the %s has %d bytes, at most %d", k, len(p),
			storedMax)
	}
	h, payload, rawBytes, err := parse(name, p, k)
	if err != nil || rawBytes == 0 {
		return h, payload, err
	}
	if rawBytes > k.expandedMax(len(payload)) {
		return h, nil, corrupt.New(name, HeaderBytes, "%d bytes must not expand to %d", len(payload),
			rawBytes)
	}
	raw, err := c.decoder.DecodeAll(payload, make([]byte, 0, rawBytes))
	if err != nil {
		return h, nil, corrupt.New(name, HeaderBytes, "zstd: %v", err)
	}
	if len(raw) != rawBytes {
		return h, nil, corrupt.New(name, HeaderBytes, "the payload holds %d bytes, the header says %d",
			len(raw), rawBytes)
	}
	return h, raw, nil
}
