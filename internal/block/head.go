package block

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// streamBytes is what a value must have for its first bytes to be decoded alone: zstd decodes
	// 128 KiB at a time, and setting that up costs something.
	streamBytes = 512 << 10
	// streamShare of a value, as a divisor, is the most that is decoded so.
	streamShare = 4
	// windowMost is the most that a frame may refer back, so that few bytes take little memory.
	windowMost = 8 << 20
)

// ParseHead verifies the value block p, which must be of one value, and returns its first n bytes,
// in new memory. ok is false unless that is a small part of a large value that is compressed, and
// whatever is wrong with p: [ParseValues] tells.
func ParseHead(p []byte, n int, d *Decompressor) (h Heads, ok bool) {
	if len(p) < valueHeaderBytes || Codec(p[0]) != Zstd {
		return Heads{}, false
	}
	_, l, r, err := parseHeader(p, 1)
	if err != nil || l.size < streamBytes || n > l.size/streamShare {
		return Heads{}, false
	}
	h = Heads{Column: Column{size: n}, Bytes: n}
	h.data, ok = d.head(r.rest, n)
	return h, ok
}

// head returns the first n bytes of what the frame p holds, unless it is no stream that holds them.
func (d *Decompressor) head(p []byte, n int) (head []byte, ok bool) {
	s, _ := d.streams.Get().(*zstd.Decoder)
	if s == nil {
		var err error
		if s, err = newStream(); err != nil {
			return nil, false
		}
	}
	head = make([]byte, n)
	err := s.Reset(bytes.NewReader(p))
	if err == nil {
		_, err = io.ReadFull(s, head)
	}
	if s.Reset(nil) == nil { // it lets go of p
		d.streams.Put(s)
	}
	return head, err == nil
}

// newStream returns a decoder that decodes no more than it is asked for, without goroutines.
func newStream() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(windowMost))
}
