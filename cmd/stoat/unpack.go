package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// windowBytesMax bounds the memory for decompressing zstd. It is the default of the program zstd.
const windowBytesMax = 128 << 20

// magics are the first bytes of compressed files, which no text begins with, and their formats. It
// is immutable.
var magics = [...]struct{ first, format string }{
	{"\x1f\x8b", "gzip"},
	{"\x28\xb5\x2f\xfd", "zstd"},
	{"\xfd7zXZ\x00", "xz"},
	{"PK\x03\x04", "zip"},
	{"7z\xbc\xaf\x27\x1c", "7z"},
	{"\x04\x22\x4d\x18", "lz4"},
}

// skippable follows the first byte of a skippable zstd frame, which some programs write first.
const skippable = "\x2a\x4d\x18"

// unpacker reads text that may be compressed. It is not safe for concurrent use.
type unpacker struct {
	io.Reader
	format string // empty: it is not compressed
	end    func() // nil if nothing is to be closed
}

// unpack detects the format by the first bytes of r, and returns a reader of the text.
func unpack(r *bufio.Reader) (unpacker, error) {
	head, err := r.Peek(len("\xfd7zXZ\x00"))
	if err != nil && err != io.EOF {
		return unpacker{}, err
	}
	format := ""
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.first)) {
			format = m.format
		}
	}
	if len(head) > 3 && head[0]&0xf0 == 0x50 && string(head[1:4]) == skippable {
		format = "zstd"
	}
	switch format {
	case "":
		return unpacker{Reader: r}, nil
	case "gzip":
		from, err := gzip.NewReader(r)
		if err != nil {
			return unpacker{}, unpackError(format, err)
		}
		return unpacker{Reader: from, format: format}, nil
	case "zstd":
		from, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(windowBytesMax))
		if err != nil {
			return unpacker{}, unpackError(format, err)
		}
		return unpacker{Reader: from, format: format, end: from.Close}, nil
	}
	return unpacker{}, fmt.Errorf("compressed as %s, and only gzip and zstd are read: decompress it "+
		"into a pipe, and read - from that", format)
}

// Read implements io.Reader.
func (u unpacker) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil && err != io.EOF && u.format != "" {
		err = unpackError(u.format, err)
	}
	return n, err
}

// close frees the decompressor.
func (u unpacker) close() {
	if u.end != nil {
		u.end()
	}
}

// unpackError describes damage of compressed data.
func unpackError(format string, err error) error {
	switch {
	case errors.Is(err, errInterrupted):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the %s data is cut short", format)
	}
	return fmt.Errorf("the %s data is damaged: %w", format, err)
}
