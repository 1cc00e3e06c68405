package crash

import (
	"hash/fnv"
	"math/rand/v2"
)

// Sample says which crashes are made, of those that are possible. That of none at all is its zero
// value.
type Sample struct {
	Seed  uint64
	Kinds int     // how many are possible at an operation, each keeping something else
	Share float64 // how many of those are made
	Only  string  // the name of the one that is made; if empty, it is left to chance
}

// draw reports whether the crash with this name is in the sample, and returns its random numbers.
func (s Sample) draw(name string) (rng *rand.Rand, due bool) {
	rng = Rand(s.Seed, name)
	due = rng.Float64() < s.Share
	if s.Only != "" {
		due = name == s.Only
	}
	return rng, due
}

// Rand returns the random numbers of what has this name.
func Rand(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
