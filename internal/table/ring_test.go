package table

import (
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
)

func TestRing_comesToEachUnitOnceARound(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewSource(seed))
	var r ring
	turn := make(map[resident]bool) // whether each unit had its turn in this round
	for step := range 20_000 {
		switch n := len(r.units); {
		case n == 0 || n < 50 && rng.Intn(3) == 0:
			u := newUnit(new(slot[block.Keys]), missReads)
			r.insert(u)
			turn[u] = true
		case rng.Intn(3) == 0:
			at := rng.Intn(n)
			delete(turn, r.units[at])
			r.remove(at)
		default:
			if r.hand == n {
				clear(turn)
			}
			u := r.next()
			if turn[u] {
				t.Fatalf("seed %d, step %d: a unit has its turn twice", seed, step)
			}
			turn[u] = true
			r.hand++
		}
		for i, u := range r.units {
			if u.base().at != i || turn[u] != (i < r.hand) {
				t.Fatalf("seed %d, step %d: unit %d of %d is at %d, had its turn %v, the hand is at %d",
					seed, step, i, len(r.units), u.base().at, turn[u], r.hand)
			}
		}
	}
}
