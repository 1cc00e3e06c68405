package compare

import (
	"golang.org/x/perf/benchmath"
)

// thresholds are the limits of the tests.
func thresholds() *benchmath.Thresholds { return &benchmath.Thresholds{CompareAlpha: Alpha} }

// significance returns the probability that the medians of the rounds differ at least as much by
// chance: the Mann-Whitney U test, which assumes nothing about their distribution.
func significance(old, new []float64) float64 {
	t := thresholds()
	return benchmath.AssumeNothing.Compare(
		benchmath.NewSample(old, t), benchmath.NewSample(new, t)).P
}
