package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// byteText returns a number of bytes with three significant digits, in powers of 1000.
func byteText(n float64) string {
	if n < 1000 {
		return fmt.Sprintf("%.0f B", n)
	}
	unit := 0
	for n >= 999.5 && unit < len("kMGTPE") {
		n /= 1000
		unit++
	}
	return significant(n) + " " + "kMGTPE"[unit-1:unit] + "B"
}

// countText returns a number with a comma after each group of three digits.
func countText(n int64) string {
	digits := strconv.FormatInt(n, 10)
	if n < 0 {
		return "-" + countText(-n)
	}
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}

// counted returns a count and its noun, in the plural unless it is one.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return countText(n) + " " + noun
}

// durationText returns a duration with three significant digits.
func durationText(d time.Duration) string {
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
	return significant(n) + " " + unit
}

// significant returns a number with three significant digits, or with all before the point.
func significant(n float64) string {
	switch {
	case n < 9.995:
		return fmt.Sprintf("%.2f", n)
	case n < 99.95:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

// per returns n per second, or 0 if no time has passed.
func per(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// each returns the time that one of n takes.
func each(d time.Duration, n int64) time.Duration {
	if n == 0 {
		return 0
	}
	return d / time.Duration(n)
}

// seconds returns a number of seconds as a duration.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// shorten returns text in at most columns characters, with an ellipsis in place of the middle.
func shorten(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	head := columns / 2
	tail := len(runes) - (columns - head - 1)
	return string(runes[:head]) + "…" + string(runes[tail:])
}
