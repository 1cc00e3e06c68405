package compare

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMannWhitney_isExactForFewObservations(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"5 and 5 apart", []float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2.0 / 252},
		{"5 and 5, U 1", []float64{1, 2, 3, 4, 6}, []float64{5, 7, 8, 9, 10}, 4.0 / 252},
		{"5 and 5, U 2", []float64{1, 2, 3, 4, 7}, []float64{5, 6, 8, 9, 10}, 8.0 / 252},
		{"5 and 5, U 3", []float64{1, 2, 3, 4, 8}, []float64{5, 6, 7, 9, 10}, 14.0 / 252},
		{"4 and 4 apart", []float64{5, 6, 7, 8}, []float64{1, 2, 3, 4}, 2.0 / 70},
		{"3 and 3 apart", []float64{1, 2, 3}, []float64{4, 5, 6}, 2.0 / 20},
		{"4 and 6 apart", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8, 9, 10}, 2.0 / 210},
		{"in turns", []float64{1, 4}, []float64{2, 3}, 1},
	} {
		for _, p := range []float64{mannWhitney(c.a, c.b), mannWhitney(c.b, c.a)} {
			if math.Abs(p-c.want) > 1e-12 {
				t.Errorf("%s: p = %v instead of %v", c.name, p, c.want)
			}
		}
	}
}

func TestMannWhitney_countsTiesByTheirPermutations(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"all the same", []float64{7, 7, 7, 7, 7}, []float64{7, 7, 7, 7, 7}, 1},
		{"two values apart", []float64{7, 7, 7, 7, 7}, []float64{8, 8, 8, 8, 8}, 2.0 / 252},
		// Of the 6 choices of 2, the ranks 1, 2.5, 2.5, 4 give 3.5 twice and 6.5 twice.
		{"one tie", []float64{1, 2}, []float64{2, 3}, 4.0 / 6},
	} {
		if p := mannWhitney(c.a, c.b); math.Abs(p-c.want) > 1e-12 {
			t.Errorf("%s: p = %v instead of %v", c.name, p, c.want)
		}
	}
}

// permutations tests by trying every choice of len(a) of the values.
func permutations(a, b []float64) float64 {
	ranks, _ := doubledRanks(append(append([]float64(nil), a...), b...))
	mean := len(a) * (len(ranks) + 1)
	var observed, far, total int
	for _, rank := range ranks[:len(a)] {
		observed += rank
	}
	for choice := range 1 << len(ranks) {
		var n, sum int
		for i, rank := range ranks {
			if choice>>i&1 == 1 {
				n++
				sum += rank
			}
		}
		if n == len(a) {
			total++
			if max(sum-mean, mean-sum) >= max(observed-mean, mean-observed) {
				far++
			}
		}
	}
	return float64(far) / float64(total)
}

func TestMannWhitney_agreesWithAllPermutations(t *testing.T) {
	const seed = 4
	random := rand.New(rand.NewPCG(seed, seed))
	for range 50 {
		a, b := make([]float64, 3+random.IntN(3)), make([]float64, 3+random.IntN(3))
		for _, side := range [][]float64{a, b} {
			for i := range side {
				side[i] = float64(random.IntN(6))
			}
		}
		if got, want := mannWhitney(a, b), permutations(a, b); math.Abs(got-want) > 1e-12 {
			t.Fatalf("seed %d: %v and %v: p = %v instead of %v", seed, a, b, got, want)
		}
	}
}

func TestMannWhitney_approximatesForManyObservations(t *testing.T) {
	const seed = 5
	random := rand.New(rand.NewPCG(seed, seed))
	draw := func(n int, shift float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = math.Round(10*random.NormFloat64()) + shift
		}
		return values
	}
	a, b := draw(20, 0), draw(20, 8)
	exact := mannWhitney(a, b)
	ranks, ties := doubledRanks(append(append([]float64(nil), a...), b...))
	var sum float64
	for _, rank := range ranks[:20] {
		sum += float64(rank) / 2
	}
	approximate := normalTail(math.Abs(sum-20*41/2.0), 20, 20, ties)
	if math.Abs(exact-approximate) > 0.01 {
		t.Errorf("seed %d: p = %v, approximately %v", seed, exact, approximate)
	}
	if p := mannWhitney(draw(60, 0), draw(60, 30)); p > 1e-6 {
		t.Errorf("seed %d: p = %v of two samples far apart", seed, p)
	}
	if p := mannWhitney(make([]float64, 30), make([]float64, 30)); p != 1 {
		t.Errorf("p = %v of observations that are all the same", p)
	}
}

func TestCritical_isThatOfTheTables(t *testing.T) {
	for _, c := range []struct{ n, m, want int }{
		{3, 3, -1}, {4, 4, 0}, {5, 5, 2}, {5, 8, 6}, {10, 10, 23}, {20, 20, 127},
	} {
		if got := critical(c.n, c.m); got != c.want {
			t.Errorf("%d and %d: %d instead of %d", c.n, c.m, got, c.want)
		}
	}
}

// coverage returns in what share of the orders that the values of two samples from one distribution
// can be in, the ratios from the k-th to the k-th from the end hold 1.
func coverage(n, m, k int) float64 {
	var inside, all int
	for choice := range 1 << (n + m) {
		if bits.OnesCount(uint(choice)) != n {
			continue
		}
		var below, seen int // pairs with a ratio below 1, and values of the new sample so far
		for i := range n + m {
			if choice>>i&1 == 1 {
				below += seen
			} else {
				seen++
			}
		}
		all++
		if below >= k && n*m-below >= k {
			inside++
		}
	}
	return float64(inside) / float64(all)
}

func TestInterval_isTheNarrowestThatHolds95Of100(t *testing.T) {
	for _, c := range []struct {
		old, new []float64
		index    int // of the lower end among the ratios, counted from 1
		coverage float64
	}{
		{[]float64{1, 1, 1, 1}, []float64{1, 2, 4, 8}, 1, 1 - 2.0/70},
		{[]float64{1, 16, 256, 4096}, []float64{1, 2, 4, 8}, 1, 1 - 2.0/70},
		{[]float64{1, 1, 1, 1, 1}, []float64{1, 2, 4, 8, 16}, 3, 1 - 8.0/252},
		{[]float64{1, 32, 1024, 32768, 1048576}, []float64{1, 2, 4, 8, 16}, 3, 1 - 8.0/252},
	} {
		var ratios []float64
		for _, a := range c.old {
			for _, b := range c.new {
				ratios = append(ratios, b/a)
			}
		}
		slices.Sort(ratios)
		low, high := interval(c.old, c.new)
		if low != ratios[c.index-1] || high != ratios[len(ratios)-c.index] {
			t.Errorf("%v and %v: %v to %v is not from the ratio %d to the last but %d",
				c.old, c.new, low, high, c.index, c.index-1)
		}
		n, m := len(c.old), len(c.new)
		if got := coverage(n, m, c.index); math.Abs(got-c.coverage) > 1e-12 {
			t.Errorf("%d and %d: coverage %v instead of %v", n, m, got, c.coverage)
		}
		if next := coverage(n, m, c.index+1); next >= 1-Alpha {
			t.Errorf("%d and %d: a narrower interval has coverage %v, too", n, m, next)
		}
	}
}

func TestSpread_isThatOfTheRoundsInTheMiddle(t *testing.T) {
	calm := []float64{98, 99, 100, 101, 102}
	for _, c := range []struct {
		name      string
		old, new  []float64
		low, high float64
	}{
		{"calm", calm, calm, 0.015, 0.03},
		{"one bad round", calm, []float64{98, 99, 100, 101, 1000}, 0.015, 0.03},
		{"a bad round each", []float64{98, 99, 100, 101, 1000}, []float64{1, 99, 100, 101, 102},
			0.01, 0.03},
		{"all the same", []float64{7, 7, 7, 7}, []float64{8, 8, 8, 8}, 0, 0},
		{"most the same", []float64{100, 100, 100, 100, 140}, []float64{100, 100, 100, 100, 100},
			0.1, 0.2},
		{"nothing", []float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, 0, 0},
	} {
		if got := spread(c.old, c.new); got < c.low || got > c.high {
			t.Errorf("%s: %v is not from %v to %v", c.name, got, c.low, c.high)
		}
	}
}

func TestSpread_isTheStandardDeviationOfManyRounds(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	draw := func(mean float64) []float64 {
		values := make([]float64, 1000)
		for i := range values {
			values[i] = mean * (1 + 0.05*random.NormFloat64())
		}
		return values
	}
	if got := spread(draw(1), draw(1000)); got < 0.045 || got > 0.055 {
		t.Errorf("seed %d: %v instead of 0.05", seed, got)
	}
}

func TestInterval_holdsTheRatioOfMedians(t *testing.T) {
	old, new := []float64{100, 101, 99, 102, 98}, []float64{120, 121, 119, 122, 118}
	low, high := interval(old, new)
	if low < 1.16 || low > 1.2 || high < 1.2 || high > 1.24 {
		t.Errorf("%v to %v", low, high)
	}
	if low, high := interval([]float64{0, 1, 1, 1}, []float64{1, 1, 1, 1}); low != 0 || high != 0 {
		t.Errorf("%v to %v with a zero", low, high)
	}
}

func TestBootstrap_holdsTheRatioAndIsTheSameEachTime(t *testing.T) {
	const seed = 6
	random := rand.New(rand.NewPCG(seed, seed))
	draw := func(mean float64) []float64 {
		values := make([]float64, 101)
		for i := range values {
			values[i] = mean * (1 + 0.05*random.NormFloat64())
		}
		return values
	}
	old, new := [][]float64{draw(100)}, [][]float64{draw(150)}
	low, high := bootstrap(old, new)
	if low < 1.4 || low > 1.5 || high < 1.5 || high > 1.6 {
		t.Errorf("seed %d: %v to %v", seed, low, high)
	}
	if l, h := bootstrap(old, new); l != low || h != high {
		t.Errorf("%v to %v, then %v to %v", low, high, l, h)
	}
	if low, high := bootstrap([][]float64{{1}}, [][]float64{{2}}); low != 0 || high != 0 {
		t.Errorf("one sample gives %v to %v", low, high)
	}
}
