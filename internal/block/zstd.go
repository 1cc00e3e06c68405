package block

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// maxExpansion is the most that zstd can expand its input: a zstd block has at least 4 bytes and
// holds at most 128 KiB.
const maxExpansion = 128 << 10 / 4

// Compressor compresses value blocks. Not safe for concurrent use.
type Compressor struct {
	encoder *zstd.Encoder
}

// NewCompressor returns a compressor. It takes about a megabyte, so blocks should share one. The
// fastest level compresses random text as well as higher ones, at two to twenty times their speed.
func NewCompressor() (*Compressor, error) {
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false)) // the block has a checksum
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	return &Compressor{encoder: encoder}, nil
}

// Decompressor decodes compressed value blocks. Blocks should share one: the first use sets it up.
// The zero Decompressor is ready for use. Safe for concurrent use.
type Decompressor struct {
	setUp   sync.Once
	decoder *zstd.Decoder
	err     error     // why there is no decoder
	streams sync.Pool // of *zstd.Decoder, for heads
}

// decode returns what the zstd frame p holds, which must be size bytes.
func (d *Decompressor) decode(p []byte, size int) ([]byte, error) {
	d.setUp.Do(func() {
		d.decoder, d.err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(0), // one for each core
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(1<<31),
			zstd.WithDecodeAllCapLimit(true)) // never grows the buffer it is given
	})
	if d.err != nil {
		return nil, fmt.Errorf("set up zstd: %w", d.err)
	}
	if size/maxExpansion > len(p) {
		return nil, fmt.Errorf("%d bytes cannot hold %d", len(p), size)
	}
	values, err := d.decoder.DecodeAll(p, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return values, nil
}

// looksRandom reports whether compressing the values is most likely a waste, as [LooksRandom] does.
// Values whose neighbours start alike are not random. Few bytes are worth a try.
func (b *Builder) looksRandom() bool {
	if len(b.values) < sampleBytes {
		return len(b.values) < leastBytes
	}
	return !b.neighboursAlike() && LooksRandom(b.values)
}

const (
	// sampleBytes of the values are looked at.
	sampleBytes = 1 << 10
	// leastBytes may be worth compressing.
	leastBytes = 64
	// scatter is a factor that makes small numbers look unrelated.
	scatter = 2654435761
)

// LooksRandom reports whether compressing p is most likely a waste. It takes about a microsecond:
// it samples 1 KiB of p, at irregular distances because p may consist of parts of one size, and
// counts how often two samples are equal, which for random bytes is once in 256 pairs. It does not
// recognise random bytes that repeat.
func LooksRandom(p []byte) bool {
	const words = sampleBytes / 8
	if len(p) < words*8 {
		return looksRandomWhole(p)
	}
	var counts [256]uint16
	stride := len(p) / words
	for i := range words {
		shift := int(uint32(i)*scatter>>8) % (stride - 7)
		for w, n := binary.LittleEndian.Uint64(p[i*stride+shift:]), 0; n < 8; n++ {
			counts[byte(w)]++
			w >>= 8
		}
	}
	// For n random bytes, it is n²/256 with a deviation of about 2 %. A quarter more means that
	// they have less than 7.7 bits each, so compression may save enough.
	const n = words * 8
	return pairs(&counts) < n*n/256*5/4
}

// looksRandomWhole is LooksRandom for p shorter than a sample.
func looksRandomWhole(p []byte) bool {
	n := len(p)
	if n < leastBytes {
		return true
	}
	var counts [256]uint16
	for _, b := range p {
		counts[b]++
	}
	// The deviation is n/11: three times that is allowed.
	return pairs(&counts) < n*n/256*5/4+n/4
}

// pairs returns how many ordered pairs of equal bytes there are, given the count of each byte.
func pairs(counts *[256]uint16) (pairs int) {
	for _, n := range counts {
		pairs += int(n) * (int(n) - 1)
	}
	return pairs
}

// neighboursAlike reports whether any of the first values starts with the same 8 bytes as the next.
func (b *Builder) neighboursAlike() bool {
	start := uint32(0)
	for _, end := range b.valueEnds[:min(16, len(b.valueEnds)-1)] {
		if start+8 <= end && int(end)+8 <= len(b.values) &&
			string(b.values[start:start+8]) == string(b.values[end:end+8]) {
			return true
		}
		start = end
	}
	return false
}
