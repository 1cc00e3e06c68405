package block

import (
	"bytes"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

func TestCheckCopy_knowsWhatTheBlockHas(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewSource(seed))
	encodings := slices.Collect(maps.Values(encodings(t)))
	for n, s := range shapes(rng) {
		for _, longest := range []int{0, 5, 255, 300, 70_000} {
			b := new(Builder)
			b.Encode(encodings[n%len(encodings)])
			for i, key := range s.keys {
				size := longest
				if i != len(s.keys)/2 {
					size = rng.Intn(min(longest, 300) + 1)
				}
				b.Add(key, keyspace.Entry{Kind: keyspace.KindPut, Value: make([]byte, size)})
			}
			values, codec := appendValues(t, nil, b)
			c, err := CheckCopy(b.AppendKeys(nil), values)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", s.name, seed, err)
			}
			if c.ValueBytes != b.ValueBytes() || c.Longest != longest || c.Codec != codec ||
				(c.Dictionary != 0) != (codec == Pattern) ||
				c.Keys.Bytes() != b.KeyBytes() || !c.Keys.Puts() {
				t.Errorf("%s, seed %d: values up to %d: %+v", s.name, seed, longest, c)
			}
			for i, want := range s.keys {
				if got := c.Keys.Append([]byte("x"), i); !bytes.Equal(got[1:], want) {
					t.Fatalf("%s, seed %d: key %d is %.40x, want %.40x", s.name, seed, i, got[1:], want)
				}
			}
		}
	}
}
