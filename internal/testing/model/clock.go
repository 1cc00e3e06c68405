package model

import (
	"sync/atomic"
	"time"
)

// Clock is the time by which entries expire. Only tests move it. Safe for concurrent use.
type Clock struct {
	millis atomic.Int64 // since 1970
}

// NewClock returns a clock at a fixed time.
func NewClock() *Clock {
	c := &Clock{}
	c.millis.Store(1_000_000_000_000)
	return c
}

// Now returns the time.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.millis.Load()) }

// Advance moves the time on by d, in whole milliseconds.
func (c *Clock) Advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }

// Stopped returns a new clock at c's time.
func (c *Clock) Stopped() *Clock {
	stopped := &Clock{}
	stopped.millis.Store(c.millis.Load())
	return stopped
}

// after returns the first whole millisecond not before d from now.
func (c *Clock) after(d time.Duration) int64 {
	return c.millis.Load() + (d + time.Millisecond - 1).Milliseconds()
}
