package page

import (
	"math"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// axis maps values to positions in a drawing.
type axis struct {
	low, high float64 // low is below high
	from, to  float64 // their positions
	log       bool
	binary    bool // ticks are at round numbers of bytes
}

// mark is a tick of an axis.
type mark struct {
	At    string
	Label string
}

// maxTicks is the maximum number of ticks on an axis.
const maxTicks = 7

// leastReach is the minimum ratio of the highest to the lowest value of a logarithmic axis, which
// then has two ticks.
const leastReach = 4

// newAxis returns an axis for the values. It is logarithmic only if all are above zero.
func newAxis(values []float64, log bool, from, to float64) axis {
	a := axis{from: from, to: to, log: log}
	for i, v := range values {
		if v <= 0 {
			a.log = false
		}
		if i == 0 {
			a.low, a.high = v, v
		}
		a.low, a.high = min(a.low, v), max(a.high, v)
	}
	if a.log && len(values) > 0 {
		if a.high/a.low < leastReach {
			widen := math.Sqrt(leastReach / (a.high / a.low))
			a.low, a.high = a.low/widen, min(a.high*widen, math.MaxFloat64)
		}
		return a
	}
	a.log = false
	a.low = min(a.low, 0)
	if a.high = max(a.high, 0); a.high == a.low {
		a.high = a.low + 1
	}
	return a
}

// at returns the position of a value.
func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// ticks returns round values on the axis.
func (a axis) ticks() []float64 {
	if !a.log {
		return a.linearTicks()
	}
	if a.binary {
		for _, step := range []int{1, 2, 5, 10, 20, 50, 100, 500} {
			if found := a.powers(2, step, []float64{1}); len(found) <= maxTicks {
				return found
			}
		}
		return nil
	}
	if found := a.powers(10, 1, []float64{1, 2, 5}); len(found) <= maxTicks {
		return found
	}
	for _, step := range []int{1, 2, 3, 5, 10, 30, 100} {
		if found := a.powers(10, step, []float64{1}); len(found) <= maxTicks {
			return found
		}
	}
	return nil
}

// powers returns the multiples on the axis of every n-th power of a base.
func (a axis) powers(base float64, step int, multiples []float64) []float64 {
	var found []float64
	first := int(math.Floor(math.Log(a.low)/math.Log(base))) - 1
	last := int(math.Ceil(math.Log(a.high) / math.Log(base)))
	for exponent := first; exponent <= last; exponent++ {
		if exponent%step != 0 {
			continue
		}
		for _, m := range multiples {
			v := m * math.Pow(base, float64(exponent))
			if v >= a.low*0.999 && v/1.001 <= a.high {
				found = append(found, v)
			}
		}
	}
	return found
}

// linearTicks returns multiples of 1, 2 or 5 times a power of ten, in the unit that fits.
func (a axis) linearTicks() []float64 {
	factor := 1.0
	for a.binary && a.high/factor >= 1024 {
		factor *= 1024
	}
	step := factor * roundUp((a.high-a.low)/factor/(maxTicks-2))
	var found []float64
	for i := math.Ceil(a.low / step); i*step/1.001 <= a.high && len(found) <= maxTicks; i++ {
		found = append(found, i*step)
	}
	return found
}

// roundUp returns the next 1, 2 or 5 times a power of ten, or zero for zero.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// marks returns the ticks, labelled by the function.
func (a axis) marks(label func(v float64) string) []mark {
	var all []mark
	for _, v := range a.ticks() {
		all = append(all, mark{At: place(a.at(v)), Label: label(v)})
	}
	return all
}

// place returns a position in a drawing as text.
func place(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// tick returns the label of a round value.
func tick(v float64, unit suite.Unit) string {
	step, names := report.Units(unit)
	i := 0
	for ; i < len(names)-1 && math.Abs(v) >= step*0.999; i++ {
		v /= step
	}
	return strconv.FormatFloat(v, 'g', 4, 64) + "\u202f" + names[i]
}

// countTick returns the label of a round count.
func countTick(v float64) string {
	label := tick(v, suite.PerSecond)
	return strings.TrimSuffix(strings.Replace(label, "\u202f", "", 1), "/s")
}
