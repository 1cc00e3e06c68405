package strategies

import "time"

// stopwatch adds up periods of time.
type stopwatch struct {
	total   time.Duration
	started time.Time
}

func (w *stopwatch) start() { w.started = time.Now() }

func (w *stopwatch) stop() { w.total += time.Since(w.started) }

// each returns the nanoseconds per item for n items.
func (w *stopwatch) each(n int) float64 { return float64(w.total) / float64(n) }
