package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// appendTime appends a moment as text, in UTC.
func appendTime(dst []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(dst, time.RFC3339Nano)
}

// expiryOf returns when a key expires, to the millisecond; the zero time stands for never.
func expiryOf(b bucket, key []byte) (time.Time, error) {
	now := time.Now() // which is a little before TTL looks
	ttl, expires, err := b.TTL(key)
	if err != nil || !expires {
		return time.Time{}, err
	}
	return now.Add(ttl + time.Millisecond - 1).Truncate(time.Millisecond), nil
}

// expiryText returns what people read about a time of expiry.
func expiryText(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return string(appendTime(nil, at))
}

// timeToLive is a flag with a time to live, like 90s, 1h30m or 7d; the zero value is none.
type timeToLive time.Duration

// Set parses text, as package flag wants it.
func (d *timeToLive) Set(text string) error {
	rest, days := text, 0
	if head, tail, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(head, 10, 17)
		if err != nil {
			return fmt.Errorf("%q: want a time like 90s, 1h30m or 7d", text)
		}
		rest, days = tail, int(n)
	}
	var parsed time.Duration
	if rest != "" || days == 0 {
		var err error
		if parsed, err = time.ParseDuration(rest); err != nil {
			return fmt.Errorf("%q: want a time like 90s, 1h30m or 7d", text)
		}
	}
	parsed += time.Duration(days) * 24 * time.Hour
	if parsed <= 0 || days > daysMax {
		return fmt.Errorf("%q: want more than 0, and at most %d days", text, daysMax)
	}
	*d = timeToLive(parsed)
	return nil
}

// daysMax bounds times to live that are given in days.
const daysMax = 100_000

// String returns the time as Set reads it.
func (d *timeToLive) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}
