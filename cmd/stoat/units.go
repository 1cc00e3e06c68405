package main

import (
	"time"

	"github.com/stoatdb/stoat/internal/commands/progress"
)

// byteText is [progress.Bytes].
func byteText(n float64) string { return progress.Bytes(n) }

// countText is [progress.Count].
func countText(n int64) string { return progress.Count(n) }

// counted is [progress.Counted].
func counted(n int64, noun string) string { return progress.Counted(n, noun) }

// durationText is [progress.Duration].
func durationText(d time.Duration) string { return progress.Duration(d) }

// per is [progress.Per].
func per(n int64, d time.Duration) float64 { return progress.Per(n, d) }

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
