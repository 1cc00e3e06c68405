package rights

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// A table and its copies are the maps that they stand for, also if all hashes are alike.
func TestTable_equalsMapsThroughCopies(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		keys := 1 + rng.IntN(300)
		now := newTable[int, int]()
		if mask := []uint64{0, 1 << 63, 0xF0F, 0}[seed%4]; seed%4 > 0 {
			now.hash = func(key int) uint64 { return uint64(key) * 0x9E3779B97F4A7C15 & mask }
		}
		want, e := map[int]int{}, &edit{}
		var copies []table[int, int]
		var wants []map[int]int
		for i := range 600 {
			if rng.IntN(20) == 0 {
				copies, wants = append(copies, now), append(wants, maps.Clone(want))
				e = &edit{}
				if n := rng.IntN(len(copies)); rng.IntN(4) == 0 { // that one goes on instead
					now, want = copies[n], maps.Clone(wants[n])
				}
			}
			key := rng.IntN(keys)
			now.set(e, key, i)
			want[key] = i
		}
		for n, c := range append(copies, now) {
			want := append(wants, want)[n]
			if got := maps.Collect(c.all()); !maps.Equal(got, want) {
				t.Fatalf("seed %d, copy %d: %v instead of %v", seed, n, got, want)
			}
			for key := range keys {
				if got := c.get(key); got != want[key] {
					t.Fatalf("seed %d, copy %d: key %d is %d instead of %d", seed, n, key, got, want[key])
				}
			}
		}
	}
}

// A list and its copies are the slices that they stand for, whichever of them is appended to, while
// others are read.
func TestList_equalsSlicesThroughCopies(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		lists, wants := []list[int]{{}}, [][]int{nil}
		var reads sync.WaitGroup
		for i := range 200 {
			n := len(lists) - 1
			if rng.IntN(5) == 0 {
				n = rng.IntN(len(lists))
			}
			l, want := lists[n].with(i), append(slices.Clone(wants[n]), i)
			lists, wants = append(lists, l), append(wants, want)
			reads.Go(func() {
				if !slices.Equal(l.items, want) {
					t.Errorf("seed %d, list %d: %v instead of %v", seed, i, l.items, want)
				}
			})
		}
		reads.Wait()
		for n, l := range lists {
			if !slices.Equal(l.items, wants[n]) {
				t.Fatalf("seed %d, list %d: %v instead of %v", seed, n, l.items, wants[n])
			}
		}
	}
}
