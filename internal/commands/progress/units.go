package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bytes returns a number of bytes with three significant digits, in powers of 1000.
func Bytes(n float64) string {
	if n < 1000 {
		return fmt.Sprintf("%.0f B", n)
	}
	unit := 0
	for n >= 999.5 && unit < len("kMGTPE") {
		n /= 1000
		unit++
	}
	return Significant(n) + " " + "kMGTPE"[unit-1:unit] + "B"
}

// Count returns a number with a comma after each group of three digits.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	if n < 0 {
		return "-" + Count(-n)
	}
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}

// Counted returns a count and its noun, in the plural unless it is one.
func Counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Count(n) + " " + noun
}

// Duration returns a duration with three significant digits.
func Duration(d time.Duration) string {
	n, unit := float64(d), "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if n < 999.5 {
			break
		}
		n, unit = n/1000, next
	}
	if unit == "ns" {
		return fmt.Sprintf("%.0f ns", n)
	}
	return Significant(n) + " " + unit
}

// Significant returns a number with three significant digits, or with all before the point.
func Significant(n float64) string {
	switch {
	case n < 9.995:
		return fmt.Sprintf("%.2f", n)
	case n < 99.95:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

// Per returns n per second, or 0 if no time has passed.
func Per(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
