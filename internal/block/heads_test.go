package block

import (
	"math"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

func TestHeads_areTheFirstBytes(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	e := encoder(t)
	b := new(Builder)
	b.Encode(Encoding{Encoder: e})
	var values [][]byte
	for i := range 60 {
		kind, value := keyspace.KindPut, message(rng)
		switch i % 20 {
		case 5:
			value = value[:rng.Intn(20)]
		case 10: // which is not encoded, and whole
			kind, value = keyspace.KindPointer, make([]byte, 350)
		}
		b.Add([]byte{byte(i)}, keyspace.Entry{Kind: kind, Value: value})
		values = append(values, value)
	}
	kinds := parse(t, b)
	p, _ := appendValues(t, nil, b)
	v, err := ParseValues(p, len(values), nil)
	if err != nil || v.Codec != Pattern {
		t.Fatal(v.Codec, err)
	}
	for _, n := range []int{1, 2, 7, 36, 100, 300, 397, 5000, math.MaxInt} {
		heads, err := v.Encoded.Heads(e.Dictionary, kinds.Kinds(), n)
		if err != nil || heads.Bytes != n {
			t.Fatalf("heads of %d bytes: %d, %v", n, heads.Bytes, err)
		}
		var want [][]byte
		for i, value := range values {
			if KindAt(kinds.Kinds(), i) == keyspace.KindPut {
				value = value[:min(n, len(value))]
			}
			want = append(want, value)
		}
		check(t, "heads", []some{{heads.Column, want}})
	}
	for i := range 3 { // lengths that are not those of the values
		damaged := v.Encoded
		damaged.lengths.shortest += uint32(i) - 1
		_, err := damaged.Heads(e.Dictionary, kinds.Kinds(), math.MaxInt)
		if (err == nil) != (i == 1) {
			t.Errorf("with lengths that are wrong by %d: %v", i-1, err)
		}
	}
}
