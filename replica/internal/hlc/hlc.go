// Package hlc has the hybrid logical clock that orders the entries of a space: a time in
// milliseconds and a counter, in one number that grows along every causal path.
//
// The package has only pure functions on numbers: the caller keeps the last time and passes it in,
// together with the time of day. A time orders entries and decides which of two
// concurrent values wins. It authorises nothing and expires nothing, so backdating gains nothing.
package hlc

import (
	"errors"
	"time"
)

// Time is a hybrid time: 48 bits of milliseconds since 1970 and a counter of 16 bits. Its order is
// that of the numbers.
type Time uint64

// counterBits is the size of the counter.
const counterBits = 16

// end is the last time, which no other can follow.
const end = ^Time(0)

// Tolerance is how far ahead of the own clock a time may be before its entry waits.
const Tolerance = 5 * time.Minute

// ErrEnd reports that no time follows the last one. It takes a clock some 8,900 years ahead.
var ErrEnd = errors.New("the hybrid clock is at its end")

// At returns the first time of the millisecond that now is in. Times before 1970 count as 1970, and
// those after the last one as the last one.
func At(now time.Time) Time {
	ms := max(now.UnixMilli(), 0)
	if ms > int64(end>>counterBits) {
		return end
	}
	return Time(ms) << counterBits
}

// Next returns the time of an entry that follows everything up to last, where now is the time of
// day. A clock that stands still or goes back advances the counter; a full counter carries into the
// milliseconds.
func Next(last Time, now time.Time) (Time, error) {
	if last == end {
		return 0, ErrEnd
	}
	return max(At(now), last+1), nil
}

// Ahead reports whether t is so far ahead of now that its entry must wait. Waiting is local: it
// never decides whether an entry is valid.
func (t Time) Ahead(now time.Time) bool {
	return t>>counterBits > At(now.Add(Tolerance))>>counterBits
}

// Time returns the time of day, to the millisecond, in UTC.
func (t Time) Time() time.Time { return time.UnixMilli(int64(t >> counterBits)).UTC() }
