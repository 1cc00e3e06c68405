package barrier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

const logs = 3

// history is logs with the vectors of their entries.
type history struct {
	logs  []Log
	pasts [][][]uint64
}

func (h *history) past(log int, seq uint64) ([]uint64, error) { return h.pasts[log][seq], nil }

// newHistory makes a random history.
func newHistory(rng *rand.Rand) *history {
	h := &history{pasts: make([][][]uint64, logs)}
	for n := range logs + rng.IntN(8) {
		log := rng.IntN(logs)
		if n < logs {
			log = n
		}
		v := make([]uint64, logs)
		if k := len(h.pasts[log]); k > 0 {
			v = slices.Clone(h.pasts[log][k-1])
			for other := range logs {
				if m := len(h.pasts[other]); other != log && rng.IntN(2) == 0 {
					for i, x := range h.pasts[other][rng.IntN(m)] {
						v[i] = max(v[i], x)
					}
				}
			}
		}
		v[log]++
		h.pasts[log] = append(h.pasts[log], v)
	}
	for log := range logs {
		n := len(h.pasts[log])
		h.logs = append(h.logs, Log{Count: uint64(n), Holds: n > 1 && rng.IntN(3) > 0})
	}
	return h
}

// barrier reports whether a cut is one, straight from the definition.
func (h *history) barrier(cut []uint64) bool {
	for log, l := range h.logs {
		for seq := range cut[log] {
			for other, n := range h.pasts[log][seq] {
				if n > cut[other] {
					return false
				}
			}
		}
		first := max(cut[log], 1)
		if first >= l.Count {
			if l.Holds {
				return false
			}
			continue
		}
		for other, n := range cut {
			if h.pasts[log][first][other] < n {
				return false
			}
		}
	}
	return true
}

func TestGreatest_isTheUnionOfAllBarriers(t *testing.T) {
	none := 0
	for seed := range uint64(20_000) {
		h := newHistory(rand.New(rand.NewPCG(seed, 4)))
		want := make([]uint64, logs)
		var cut [logs]uint64
		for cut[0] = range h.logs[0].Count + 1 {
			for cut[1] = range h.logs[1].Count + 1 {
				for cut[2] = range h.logs[2].Count + 1 {
					if h.barrier(cut[:]) {
						for i := range cut {
							want[i] = max(want[i], cut[i])
						}
					}
				}
			}
		}
		got, err := Greatest(h.logs, h.past)
		if err != nil || !slices.Equal(got, want) || !h.barrier(got) {
			t.Fatalf("seed %d: %v instead of %v in %+v (%v)", seed, got, want, h, err)
		}
		if slices.Max(got) == 0 {
			none++
		}
	}
	if none > 15_000 {
		t.Errorf("%d histories have no barrier", none)
	}
}

func TestGreatest_returnsTheErrorOfALookup(t *testing.T) {
	broken := fmt.Errorf("broken")
	_, err := Greatest([]Log{{2, true}, {2, false}},
		func(int, uint64) ([]uint64, error) { return nil, broken })
	if err != broken {
		t.Errorf("got %v", err)
	}
}
