// Package retry makes requests to a store again that fail, for as long as their caller can wait.
//
// A [Patient] store is for reads, whose callers say how long that is. A [Persistent] one is for
// what would have to begin anew: it gives up after [Tries]. Others wait for [BackOff] between tries
// of their own. An error that says what is in the store is an answer, and ends the tries.
//
// Everything is safe for concurrent use. Nothing here starts goroutines.
package retry

import (
	"context"
	"time"
)

// Tries is how often a request is tried that brings nothing: for 20 s or so.
const Tries = 12

// The pause after a failed try is pauseMin, then twice as long each time, up to pauseMax.
const (
	pauseMin = 20 * time.Millisecond
	pauseMax = 5 * time.Second
)

// BackOff returns how long to wait after so many tries that have failed, at least 1.
func BackOff(tries int) time.Duration { return min(pauseMin<<min(tries-1, 10), pauseMax) }

// Sleep waits for d, or for an item of early, and reports whether ctx has not ended.
func Sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
