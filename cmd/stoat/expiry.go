package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
)

// appendTime appends a moment as text, in UTC.
func appendTime(dst []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(dst, time.RFC3339Nano)
}

// lastMoment is the latest time that JSON, dumps and imports can name, to the millisecond. It is
// immutable.
var lastMoment = time.Date(9999, time.December, 31, 23, 59, 59, 999e6, time.UTC)

// expiresAt returns when the key under the cursor expires, no later than lastMoment; the zero time
// means never.
func expiresAt(c *stoat.Cursor) time.Time {
	at := c.Expires()
	if !at.IsZero() && (at.After(lastMoment) || at.Before(time.UnixMilli(0))) {
		return lastMoment // the stored time is after 1970, and too late for time.Time
	}
	return at
}

// expiryOf returns when a key expires, as expiresAt does.
func expiryOf(b stoat.KeySpace, key []byte) (time.Time, error) {
	c := b.Cursor()
	found, _ := c.Seek(key)
	if err := c.Err(); err != nil {
		return time.Time{}, err
	}
	if found == nil || !bytes.Equal(found, key) {
		return time.Time{}, stoat.ErrNotFound
	}
	return expiresAt(c), nil
}

// expiryText returns a time of expiry as people read it.
func expiryText(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return string(appendTime(nil, at))
}

// timeToLive is a flag with a time to live, like 90s, 1h30m or 7d; zero means none.
type timeToLive time.Duration

// Set implements flag.Value.
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
