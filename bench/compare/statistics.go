package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stoatdb/stoat/bench/report"
)

// maxExact is the number of observations up to which the test is exact.
const maxExact = 40

// mannWhitney returns the probability that two samples from one distribution have rank sums at
// least as far from what is expected as those of a and b, given the ties that there are. It is
// exact for up to [maxExact] observations, and an approximation by the normal distribution beyond.
func mannWhitney(a, b []float64) float64 {
	ranks, ties := doubledRanks(slices.Concat(a, b))
	var sum int
	for _, rank := range ranks[:len(a)] {
		sum += rank
	}
	n, all := len(a), len(ranks)
	mean := n * (all + 1) // of the doubled rank sum
	distance := max(sum-mean, mean-sum)
	if all > maxExact {
		return normalTail(float64(distance)/2, n, len(b), ties)
	}
	var total, far float64
	for s, count := range rankSums(ranks, n) {
		total += count
		if max(s-mean, mean-s) >= distance {
			far += count
		}
	}
	return far / total
}

// doubledRanks returns twice the rank of each value, counted from 1, where equal values share the
// mean of theirs; and the sum of t³-t over the groups of t equal values.
func doubledRanks(values []float64) (ranks []int, ties float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case values[i] < values[j]:
			return -1
		case values[i] > values[j]:
			return 1
		}
		return 0
	})
	ranks = make([]int, len(values))
	for i := 0; i < len(order); {
		j := i
		for ; j < len(order) && values[order[j]] == values[order[i]]; j++ {
		}
		for _, k := range order[i:j] {
			ranks[k] = i + j + 1 // the mean of i+1 and j, doubled
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// rankSums returns, for each sum, how many choices of n of the ranks have it.
func rankSums(ranks []int, n int) []float64 {
	var most int
	for _, rank := range ranks {
		most += rank
	}
	counts := make([][]float64, n+1) // by the number of ranks chosen, and their sum
	for i := range counts {
		counts[i] = make([]float64, most+1)
	}
	counts[0][0] = 1
	for _, rank := range ranks {
		for i := n; i > 0; i-- {
			for s := rank; s <= most; s++ {
				counts[i][s] += counts[i-1][s-rank]
			}
		}
	}
	return counts[n]
}

// normalTail approximates the test for a rank sum of a that lies so far from its mean.
func normalTail(distance float64, a, b int, ties float64) float64 {
	n, m := float64(a), float64(b)
	all := n + m
	variance := n * m / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 {
		return 1 // all observations are the same
	}
	z := max(0, distance-0.5) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}

// interval returns an interval that holds the ratio of new to old in 95 of 100 cases at least: the
// shifts, on a logarithmic scale, that the test would not reject. Both sides have at least
// [MinRounds] values. It is zero if there are values that are not positive.
func interval(old, new []float64) (low, high float64) {
	var ratios []float64
	for _, a := range old {
		for _, b := range new {
			if a <= 0 || b <= 0 {
				return 0, 0
			}
			ratios = append(ratios, b/a)
		}
	}
	slices.Sort(ratios)
	// A shift just above the k-th ratio puts k pairs in the wrong order, counted from 1, and the
	// test rejects it up to the critical number.
	outside := critical(len(old), len(new))
	return ratios[outside], ratios[len(ratios)-1-outside]
}

// critical returns the largest number of pairs in the wrong order with which a one-sided test
// rejects at half of [Alpha], or -1 if there is none.
func critical(n, m int) int {
	if n+m > maxExact {
		deviation := math.Sqrt(float64(n*m*(n+m+1)) / 12)
		return int(float64(n*m)/2-1.96*deviation) - 1
	}
	ranks := make([]int, n+m)
	for i := range ranks {
		ranks[i] = i + 1
	}
	sums := rankSums(ranks, n)
	var total, below float64
	for _, count := range sums {
		total += count
	}
	least := n * (n + 1) / 2
	for u := range n*m + 1 {
		below += sums[least+u]
		if below/total > Alpha/2 {
			return u - 1
		}
	}
	return -1
}

// scale is how many times as large as the median of its deviations the standard deviation of a
// normal distribution is.
const scale = 1.4826

// spread estimates the standard deviation between the rounds of a run, as a share of their median,
// from both runs together. A few rounds that went wrong do not make it large.
//
// It is the lesser of two: the standard deviation, and the scaled median of the deviations from
// each run's own median, which is less exact but does not see such rounds. The least deviation of
// each run does not count there, being next to nothing because the run's median was made from it.
// If most rounds are the same, so that the median is zero, it is the standard deviation.
func spread(old, new []float64) float64 {
	var squares float64
	var deviations []float64
	for _, rounds := range [][]float64{old, new} {
		middle := report.Median(rounds)
		if middle <= 0 {
			continue
		}
		var own []float64
		for _, v := range rounds {
			d := math.Abs(v/middle - 1)
			own = append(own, d)
			squares += d * d
		}
		slices.Sort(own)
		deviations = append(deviations, own[1:]...)
	}
	if len(deviations) == 0 {
		return 0
	}
	deviation := math.Sqrt(squares / float64(len(deviations)))
	if robust := scale * report.Median(deviations); robust > 0 {
		return min(deviation, robust)
	}
	return deviation
}

// resamples is how often the bootstrap draws.
const resamples = 400

// bootstrap returns the interval that the samples within the rounds give for the ratio of new to
// old, as if there were no difference between processes. It is zero if there are values that are
// not positive, or nothing but one sample in each round.
func bootstrap(old, new [][]float64) (low, high float64) {
	longest := 0
	for _, side := range [][][]float64{old, new} {
		for _, round := range side {
			longest = max(longest, len(round))
			if slices.Min(round) <= 0 {
				return 0, 0
			}
		}
	}
	if longest < 2 {
		return 0, 0
	}
	random := rand.New(rand.NewPCG(1, 1))
	old, new = sorted(old), sorted(new)
	ratios := make([]float64, resamples)
	for i := range ratios {
		ratios[i] = draw(random, new) / draw(random, old)
	}
	return report.Quantile(ratios, Alpha/2), report.Quantile(ratios, 1-Alpha/2)
}

func sorted(rounds [][]float64) [][]float64 {
	var all [][]float64
	for _, round := range rounds {
		all = append(all, slices.Sorted(slices.Values(round)))
	}
	return all
}

// draw returns the median of the medians of rounds whose sorted samples were drawn again.
func draw(random *rand.Rand, rounds [][]float64) float64 {
	m := make([]float64, 0, len(rounds))
	for _, round := range rounds {
		times := make([]int, len(round))
		for range round {
			times[random.IntN(len(round))]++
		}
		left := (len(round) + 1) / 2 // of the draws, up to the one in the middle
		i := 0
		for ; times[i] < left; i++ {
			left -= times[i]
		}
		m = append(m, round[i])
	}
	return report.Median(m)
}
