package wire

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

func TestUvarint_hasOneForm(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 1<<14 - 1, 1 << 14, math.MaxUint64} {
		p := binary.AppendUvarint(nil, v)
		r := NewReader(p)
		if got := r.Uvarint(); got != v || r.End() != nil {
			t.Errorf("%d: got %d, %v", v, got, r.Err())
		}
		if len(p) < 10 {
			p[len(p)-1] |= 0x80
			longer := NewReader(append(p, 0))
			if longer.Uvarint(); !errors.Is(longer.Err(), ErrMalformed) {
				t.Errorf("%d: a longer form is accepted", v)
			}
		}
	}
	for _, v := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64} {
		r := NewReader(binary.AppendVarint(nil, v))
		if got := r.Varint(); got != v || r.End() != nil {
			t.Errorf("%d: got %d, %v", v, got, r.Err())
		}
	}
}

func TestReader_keepsItsFirstError(t *testing.T) {
	r := NewReader([]byte{1, 2, 3})
	r.Take(4)
	first := r.Err()
	if r.Byte() != 0 || r.Uint64() != 0 || r.Bytes(0, 9) != nil || r.Len() != 0 || r.End() != first {
		t.Errorf("it goes on after %v", first)
	}
}

func TestReader_checksNumbersBeforeTheyAreUsed(t *testing.T) {
	huge := binary.AppendUvarint(nil, math.MaxUint64)
	for name, read := range map[string]func(r *Reader){
		"Bytes":     func(r *Reader) { r.Bytes(0, math.MaxInt) },
		"Count":     func(r *Reader) { r.Count(math.MaxInt, 1) },
		"too short": func(r *Reader) { *r = NewReader([]byte{1, 9}); r.Bytes(2, 9) },
		"too many":  func(r *Reader) { *r = NewReader([]byte{2, 9, 9}); r.Count(1, 1) },
		"too large": func(r *Reader) { *r = NewReader([]byte{2, 9, 9}); r.Count(9, 2) },
	} {
		r := NewReader(huge)
		if read(&r); !errors.Is(r.Err(), ErrMalformed) {
			t.Errorf("%s: %v", name, r.Err())
		}
	}
}
