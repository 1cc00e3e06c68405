package remote

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// exchange is a request and its answer.
type exchange struct {
	method     string // LIST for a GET of a list
	path       string
	start, end time.Time
	sent, got  int64 // bytes of the bodies of the request and of the answer
}

// traffic is what went through a proxy, in the order of the ends.
type traffic []exchange

// turns returns how many round trips the exchanges took: the length of the longest series of which
// each began after the end of the one before.
func (t traffic) turns() (turns int) {
	sorted := slices.Clone(t)
	slices.SortFunc(sorted, func(a, b exchange) int { return a.end.Compare(b.end) })
	var last time.Time
	for _, e := range sorted {
		if !e.start.Before(last) {
			turns++
			last = e.end
		}
	}
	return turns
}

// received returns the bytes of the answers.
func (t traffic) received() (bytes int64) {
	for _, e := range t {
		bytes += e.got
	}
	return bytes
}

// Dollars for a request, by the prices of S3 Standard in us-east-1. Deleting is free.
const (
	priceOfWrite = 5e-6 // also of a list
	priceOfRead  = 0.4e-6
)

// price returns what the requests cost, in dollars.
func (t traffic) price() (dollars float64) {
	for _, e := range t {
		switch e.method {
		case "GET", "HEAD":
			dollars += priceOfRead
		case "DELETE":
		default:
			dollars += priceOfWrite
		}
	}
	return dollars
}

// groups returns the exchanges that stored objects of the log, in the order in which they began.
// part is a part of the path of just these.
func (t traffic) groups(part string) traffic {
	groups := slices.DeleteFunc(slices.Clone(t), func(e exchange) bool {
		return e.method != "PUT" || !strings.Contains(e.path, part)
	})
	slices.SortFunc(groups, func(a, b exchange) int { return a.start.Compare(b.start) })
	return groups
}

// lags returns how long each commit was not in the store, in nanoseconds: from when it returned, in
// microseconds since 1970, to the end of the first exchange that stored an object of the log and
// began after it. Commits without one are left out.
func (t traffic) lags(at []float64) (lags []float64) {
	for _, returned := range at {
		i, _ := slices.BinarySearchFunc(t, returned, func(e exchange, returned float64) int {
			return cmp.Compare(microseconds(e.start), returned)
		})
		if i < len(t) {
			// Of several at a time, an earlier one may end later.
			lags = append(lags, (microseconds(t[i].end)-returned)*1e3)
		}
	}
	return lags
}

// microseconds returns a time in microseconds since 1970.
func microseconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e3 }
