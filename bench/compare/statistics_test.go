package compare

import (
	"math"
	"testing"
)

func TestSignificance_isExactForFewRounds(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new []float64
		want     float64
	}{
		{"5 and 5 apart", []float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2.0 / 252},
		{"5 and 5, one out of order", []float64{1, 2, 3, 4, 6}, []float64{5, 7, 8, 9, 10}, 4.0 / 252},
		{"two values apart", []float64{7, 7, 7, 7, 7}, []float64{8, 8, 8, 8, 8}, 2.0 / 252},
		{"all the same", []float64{7, 7, 7, 7, 7}, []float64{7, 7, 7, 7, 7}, 1},
		{"out of order", []float64{5, 3, 1, 4, 2}, []float64{9, 7, 10, 6, 8}, 2.0 / 252},
	} {
		for _, p := range []float64{significance(c.old, c.new), significance(c.new, c.old)} {
			if math.Abs(p-c.want) > 1e-9 {
				t.Errorf("%s: p = %v instead of %v", c.name, p, c.want)
			}
		}
	}
}
