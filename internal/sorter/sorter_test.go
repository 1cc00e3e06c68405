package sorter

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSorter_returnsTheLastOfEachKeyInOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	rng := rand.New(rand.NewPCG(seed, 0))
	var s Sorter
	for round := range 300 {
		s.Reset()
		prefix := bytes.Repeat([]byte{'p'}, rng.IntN(20))
		want := map[string]string{}
		size := int64(0)
		for i := range rng.IntN(200) {
			key := slices.Clone(prefix)
			for range rng.IntN(12) {
				key = append(key, byte(rng.IntN(1+rng.IntN(3)))) // zeros, which pad heads, are frequent
			}
			value := fmt.Sprint(i)
			if !s.Fits(len(key), len(value)) {
				t.Fatal("a few bytes do not fit")
			}
			s.Add(key, []byte(value))
			want[string(key)] = value
			size += int64(len(key) + len(value))
		}
		if s.Bytes() < size {
			t.Errorf("%d bytes of pairs take %d", size, s.Bytes())
		}
		var keys []string
		s.Sort()
		for key, value := range s.All() {
			if want[string(key)] != string(value) {
				t.Fatalf("round %d: %q has the value %q, want %q", round, key, value, want[string(key)])
			}
			keys = append(keys, string(key))
		}
		sorted := slices.Sorted(maps.Keys(want))
		if !slices.Equal(keys, sorted) {
			t.Fatalf("round %d: keys %q, want %q", round, keys, sorted)
		}
		if len(sorted) == 0 {
			continue
		}
		first, last := s.Span()
		if string(first) != sorted[0] || string(last) != sorted[len(sorted)-1] {
			t.Fatalf("round %d: from %q to %q, want %q", round, first, last, sorted)
		}
	}
}

func TestSorter_takesNoMoreThanItCanAddress(t *testing.T) {
	var s Sorter
	if s.Fits(10, maxBytes-10) {
		t.Error("pairs fit whose offsets exceed 32 bits")
	}
	if !s.Fits(10, maxBytes-10-lengthBytes) {
		t.Error("what can be addressed does not fit")
	}
}

func BenchmarkSorter(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	key, value := make([]byte, 16), make([]byte, 100)
	var s Sorter
	for i := range b.N {
		for j := range key {
			key[j] = byte(rng.Uint32())
		}
		s.Add(key, value)
		if s.Bytes() > 24<<20 || i == b.N-1 {
			s.Sort()
			s.Reset()
		}
	}
}
