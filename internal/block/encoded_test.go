package block

import (
	"math/rand"
	"testing"
)

func TestDictionary_decodesIntoTheRoomThatThereIs(t *testing.T) {
	e, rng := encoder(t), rand.New(rand.NewSource(1))
	dst := make([]byte, 0, 10_000)
	start := &dst[:1][0]
	for range 20 {
		value := message(rng)
		var err error
		if dst, err = e.Dictionary.Decode(dst, e.Append(nil, value), len(value)); err != nil {
			t.Fatal(err)
		}
	}
	if &dst[0] != start || cap(dst) != 10_000 {
		t.Errorf("the values were put elsewhere, where there are %d bytes", cap(dst))
	}
}

func TestScratch_keepsWhatItReturnedUntilItIsReset(t *testing.T) {
	e, rng := encoder(t), rand.New(rand.NewSource(1))
	var s Scratch
	for range 3 {
		var want, got []string
		var all [][]byte
		for range 500 {
			value := message(rng)
			p, err := s.Decode(e.Dictionary, e.Append(nil, value), len(value))
			if err != nil {
				t.Fatal(err)
			}
			all, want = append(all, p), append(want, string(value))
		}
		for i, p := range all {
			if got = append(got, string(p)); got[i] != want[i] {
				t.Fatalf("value %d is %q, want %q", i, got[i], want[i])
			}
		}
		s.Reset()
	}
	value := message(rng)
	encoded := e.Append(nil, value)
	if n := testing.AllocsPerRun(100, func() {
		for range 100 {
			if _, err := s.Decode(e.Dictionary, encoded, len(value)); err != nil {
				t.Fatal(err)
			}
		}
		s.Reset()
	}); n > 0 {
		t.Errorf("%.1f allocations for 100 values that fit", n)
	}
}
