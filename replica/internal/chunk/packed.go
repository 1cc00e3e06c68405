package chunk

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Packed is a chunk in the form in which it is sent and staged, and the hash of its leaf.
type Packed struct {
	Leaf Hash
	Form []byte
}

// The first byte of a form says what follows.
const (
	plain      = 0 // the chunk
	compressed = 1 // Zstandard frames that make the chunk
)

// Of chunks that are compressed: the least bytes that are worth it, and the most, so that no form
// makes more of itself. Larger chunks have one large record.
const (
	packMin = 1 << 10
	packMax = 1 << 20
)

// FormMax is the most bytes of a form. One that is compressed is not longer than its chunk.
const FormMax = SizeMax + 1

// errForm reports bytes that are not the form of a chunk.
var errForm = errors.New("it is not the packed form of a chunk")

// encoder and decoder are immutable after the first use, and safe for concurrent use.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(packMax), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(packMax),
			zstd.WithDecoderMaxWindow(packMax), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderLowmem(true))
	})
)

// Pack returns the form of a chunk: compressed where that makes it smaller.
func Pack(p []byte) ([]byte, error) {
	if packMin <= len(p) && len(p) <= packMax {
		z, err := encoder()
		if err != nil {
			return nil, err
		}
		form := z.EncodeAll(p, []byte{compressed})
		if len(form) <= len(p) {
			return form, nil
		}
	}
	return append([]byte{plain}, p...), nil
}

// Unpacker takes chunks out of their forms. The zero value is ready. It is not safe for concurrent
// use.
type Unpacker struct{ buf []byte } // of packMax bytes: many small frames would grow it often

// Unpack returns the chunk of a form, which is valid until the next call and as long as the form.
// Whether it is a chunk is not checked.
func (u *Unpacker) Unpack(form []byte) ([]byte, error) {
	switch {
	case len(form) == 0 || len(form) > FormMax:
		return nil, errForm
	case form[0] == plain:
		return form[1:], nil
	case form[0] != compressed || len(form) > packMax:
		return nil, errForm
	}
	z, err := decoder()
	if err != nil {
		return nil, err
	}
	if u.buf == nil {
		u.buf = make([]byte, 0, packMax)
	}
	p, err := z.DecodeAll(form[1:], u.buf)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForm, err)
	}
	if len(form) > len(p) { // frames may have what makes nothing of the chunk
		return nil, errForm
	}
	return p, nil
}

// Is reports whether a form is that of the chunk of a leaf.
func (u *Unpacker) Is(form []byte, leaf Hash) bool {
	p, err := u.Unpack(form)
	return err == nil && Leaf(p) == leaf
}
