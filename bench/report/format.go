package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/bench/suite"
)

// Format returns a value with three digits and a short unit, in at most six characters.
func Format(v float64, unit suite.Unit) string {
	number, name := Scale(v, unit)
	return number + strings.TrimSuffix(strings.TrimSuffix(name, "iB"), "/s")
}

// Scale returns a value with three digits in the unit that fits, and the name of that unit.
func Scale(v float64, unit suite.Unit) (number, name string) {
	step, names := Units(unit)
	i := 0
	for ; i < len(names)-1 && (v >= 999.5 || v <= -999.5); i++ {
		v /= step
	}
	return Digits(v), names[i]
}

// Units returns the names of a unit and its multiples, each step times the one before.
func Units(unit suite.Unit) (step float64, names []string) {
	switch unit {
	case suite.Nanoseconds:
		return 1000, []string{"ns", "µs", "ms", "s"}
	case suite.Bytes:
		return 1024, []string{"B", "KiB", "MiB", "GiB", "TiB"}
	case suite.Times:
		return 1000, []string{"×"}
	case suite.Dollars:
		return 1000, []string{"$"}
	}
	return 1000, []string{"/s", "k/s", "M/s", "G/s"}
}

// Digits returns v with three significant digits, or up to five before the point.
func Digits(v float64) string {
	size := max(v, -v)
	switch {
	case v == 0:
		return "0"
	case size < 0.001 || size >= 99999.5:
		return strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-").Replace(
			strconv.FormatFloat(v, 'e', 0, 64))
	case size < 9.995:
		return fmt.Sprintf("%.2f", v)
	case size < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Count returns a whole number with commas between thousands, and any other number as it is.
func Count(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if v < 1000 || strings.Contains(text, ".") {
		return text
	}
	head := len(text) % 3
	var parts []string
	if head > 0 {
		parts = append(parts, text[:head])
	}
	for i := head; i < len(text); i += 3 {
		parts = append(parts, text[i:i+3])
	}
	return strings.Join(parts, ",")
}
