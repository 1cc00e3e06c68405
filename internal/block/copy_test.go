package block

import (
	"bytes"
	"math/rand"
	"testing"
)

func TestCheckCopy_knowsWhatTheBlockHas(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewSource(seed))
	compressor, err := NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shapes(rng) {
		for _, longest := range []int{0, 5, 255, 300, 70_000} {
			b := fill(s.keys, func(i int) []byte {
				if i == len(s.keys)/2 {
					return make([]byte, longest)
				}
				return make([]byte, rng.Intn(min(longest, 300)+1))
			})
			values, compressed := b.AppendValues(nil, compressor)
			c, err := CheckCopy(b.AppendKeys(nil), values)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", s.name, seed, err)
			}
			if c.ValueBytes != b.ValueBytes() || c.Longest != longest || c.Compressed != compressed ||
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
