package superversion

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestGap_endsWhereSomethingIs asks at keys of the state, and between them.
func TestGap_endsWhereSomethingIs(t *testing.T) {
	gaps := 0
	eachState(t, 60, func(t *testing.T, rng *rand.Rand, s *state) {
		layers := append([]*layer{s.bottom}, s.young...)
		for range 40 {
			key := randomKey(rng)
			var want []byte
			inside := false
			for _, l := range layers {
				for k := range l.written {
					if k >= key {
						want = lower(want, []byte(k))
					}
				}
				for _, span := range l.deleted {
					inside = inside || span.Contains([]byte(key))
					if bytes.Compare(span.Start, []byte(key)) >= 0 {
						want = lower(want, span.Start)
					}
				}
			}
			inside = inside || string(want) == key
			end, ok, err := s.Levels.Gap([]byte(key))
			if err != nil || ok == inside || ok && !bytes.Equal(end, want) {
				t.Errorf("the gap at %q ends at %q, %v, %v; want %q, %v", key, end, ok, err, want, !inside)
			}
			if ok {
				gaps++
			}
		}
	})
	if gaps < 100 {
		t.Errorf("there were only %d gaps", gaps)
	}
}
