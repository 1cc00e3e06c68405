package report

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// format returns a value with three digits and a unit, in at most six characters.
func format(v float64, unit suite.Unit) string {
	switch unit {
	case suite.Nanoseconds:
		return scaled(v, 1000, "ns", "µs", "ms", "s")
	case suite.Bytes:
		return scaled(v, 1024, "B", "K", "M", "G", "T")
	}
	return scaled(v, 1000, "", "k", "M", "G")
}

// scaled returns v in the first unit in which it is below 1,000, or in the last.
func scaled(v, step float64, units ...string) string {
	last := len(units) - 1
	i := 0
	for ; i < last && v >= 999.5; i++ {
		v /= step
	}
	return digits(v) + units[i]
}

// digits returns v with three significant digits, but all of those before the point.
func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
