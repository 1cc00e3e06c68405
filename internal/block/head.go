package block

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// streamBytes is the least size of a value whose first bytes are decoded alone: zstd decodes
	// 128 KiB at a time, and setting it up takes a while.
	streamBytes = 512 << 10
	// streamShare of a value, as a divisor, is the most that is decoded this way.
	streamShare = 4
	// windowMost is the farthest that a zstd frame may refer back, to limit the memory it takes.
	windowMost = 8 << 20
)

// ParseHead verifies the value block p, which must have one value, and returns its first n bytes,
// in new memory. ok is false unless they are a small part of a large, compressed value; also if p
// is damaged, which [ParseValues] reports.
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

// head returns the first n bytes of what the zstd frame p holds. ok is false if it cannot be
// decoded that far.
func (d *Decompressor) head(p []byte, n int) (head []byte, ok bool) {
	s, _ := d.streams.Get().(*zstd.Decoder)
	if s == nil {
		var err error
		// One that decodes no more than it is asked for, without goroutines.
		if s, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(windowMost)); err != nil {
			return nil, false
		}
	}
	head = make([]byte, n)
	err := s.Reset(bytes.NewReader(p))
	if err == nil {
		_, err = io.ReadFull(s, head)
	}
	if s.Reset(nil) == nil { // which releases p
		d.streams.Put(s)
	}
	return head, err == nil
}
