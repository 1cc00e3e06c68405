package crash

import (
	"hash/fnv"
	"math/rand/v2"
)

// Sample selects some of the possible crashes. The zero value selects none.
type Sample struct {
	Seed  uint64
	Kinds int     // the number of crashes at each operation, by what they keep
	Share float64 // the share of those that are made
	Only  string  // if not empty, the name of the one crash to make
}

// draw reports whether the sample has the crash with this name, and returns its random numbers.
func (s Sample) draw(name string) (rng *rand.Rand, due bool) {
	rng = Rand(s.Seed, name)
	due = rng.Float64() < s.Share
	if s.Only != "" {
		due = name == s.Only
	}
	return rng, due
}

// Rand returns the random numbers that belong to a name.
func Rand(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
