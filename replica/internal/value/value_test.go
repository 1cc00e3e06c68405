package value

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/wire"
	"github.com/stoatdb/stoat/tuple"
)

func TestTake_acceptsEveryScalar(t *testing.T) {
	scalars := [][]byte{
		tuple.AppendNil(nil), tuple.AppendBool(nil, false), tuple.AppendBool(nil, true),
		tuple.AppendUint(nil, math.MaxUint64), tuple.AppendString(nil, "a\x00\x01\x02ü"),
		tuple.AppendBytes(nil, []byte{0, 1, 255}), tuple.AppendTime(nil, time.Time{}),
		tuple.AppendTime(nil, time.Unix(-1, 999_999_999)), tuple.AppendUUID(nil, [16]byte{1}),
	}
	for _, v := range []int64{0, 1, -1, 255, 256, -255, -256, math.MaxInt64, math.MinInt64} {
		scalars = append(scalars, tuple.AppendInt(nil, v))
	}
	minusZero, infinity := math.Copysign(0, -1), math.Inf(1)
	for _, v := range []float64{0, minusZero, 1, -1, infinity, -infinity, math.NaN()} {
		scalars = append(scalars, tuple.AppendFloat(nil, v))
	}
	for _, p := range scalars {
		r := wire.NewReader(append(bytes.Clone(p), 0x99))
		if got := TakeScalar(&r); !bytes.Equal(got, p) || r.Err() != nil || r.Len() != 1 {
			t.Errorf("%x: got %x, %v", p, got, r.Err())
		}
		if len(p) > 1 {
			short := wire.NewReader(p[:len(p)-1])
			if got := Take(&short); got != nil || short.Err() == nil {
				t.Errorf("%x without its end is accepted", p)
			}
		}
	}
}

// Numbers that could be shorter, or are out of range, are refused.
func TestTake_refusesOtherFormsOfNumbers(t *testing.T) {
	for _, p := range [][]byte{
		{tagZero + 1, 0}, {tagZero + 2, 0, 1}, {tagZero - 1, 0xFF}, {tagZero - 2, 0xFF, 0xFE},
		{tagZero - 8, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE}, // −2⁶³ − 1
		{tagFloat, 0xFF, 0xF8, 0, 0, 0, 0, 0, 0}, {tagFloat, 0, 7, 0, 0, 0, 0, 0, 0},
		{tagTime, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x3B, 0x9A, 0xCA, 0},
		{tagString, 1, 0}, {tagString, 1, 3, 0}, {tagZero + 9}, {tagZero - 9},
	} {
		r := wire.NewReader(p)
		if got := Take(&r); got != nil || r.Err() == nil {
			t.Errorf("%x is accepted", p)
		}
	}
}

// A scalar that Take accepts is one that package tuple decodes and encodes in the same way.
func FuzzTake(f *testing.F) {
	f.Add(tuple.AppendInt(nil, -300))
	f.Add(tuple.AppendFloat(nil, math.NaN()))
	f.Add(tuple.AppendString(nil, "a\x00b\x01"))
	f.Add(append([]byte{tagMap, 1}, tuple.AppendTime(tuple.AppendBool(nil, true), time.Unix(1, 2))...))
	f.Add([]byte{tagStruct, 1, 1, 'a', tagList, 1, tagNil})
	f.Fuzz(func(t *testing.T, p []byte) {
		r := wire.NewReader(p)
		v := Take(&r)
		if r.Err() != nil || v[0] >= tagList {
			return
		}
		decoded, err := tuple.Decode(v)
		if err != nil {
			t.Fatalf("%x: %v", v, err)
		}
		again, err := tuple.Encode(decoded...)
		if err != nil || !bytes.Equal(again, v) {
			t.Errorf("%x was accepted, and encodes to %x, %v", v, again, err)
		}
	})
}
