package main

import "time"

// each returns the time for one of n.
func each(d time.Duration, n int64) time.Duration {
	if n == 0 {
		return 0
	}
	return d / time.Duration(n)
}

// seconds returns a number of seconds as a duration.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// shorten returns text in at most columns characters, with an ellipsis for the middle.
func shorten(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	head := columns / 2
	tail := len(runes) - (columns - head - 1)
	return string(runes[:head]) + "…" + string(runes[tail:])
}
