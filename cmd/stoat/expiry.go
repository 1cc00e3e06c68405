package main

import "time"

// halfTick is half of the time between two moments at which an entry can expire. It is taken off
// times to live, which the database rounds up from a moment that is a little later.
const halfTick = time.Millisecond / 2

// timeLeft returns the time to live of an entry that expires at that moment, a whole millisecond;
// not more than 0 if that is over.
func timeLeft(expires time.Time) time.Duration {
	left := time.Until(expires)
	if left <= 0 {
		return left
	}
	return max(left-halfTick, 1)
}

// appendTime appends a moment as text, in UTC.
func appendTime(dst []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(dst, time.RFC3339Nano)
}
