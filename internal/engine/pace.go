package engine

import (
	"sync/atomic"
	"time"
)

// pace holds commits back while flushes and compactions lag, so that writers slow down smoothly
// before they would have to stop. Safe for concurrent use.
type pace struct {
	perByte atomic.Int64 // nanoseconds that a commit is held back per byte
	delayed atomic.Int64 // nanoseconds that commits were held back, in all
}

const (
	nanosPerByte = 5 // 200 MB/s at the first step
	// maxPause bounds how long one commit is held back.
	maxPause = 100 * time.Millisecond
)

// set sets by how many steps flushes and compactions lag; 0 holds nobody back.
func (p *pace) set(lag int) { p.perByte.Store(int64(lag) * nanosPerByte) }

// wait holds back the caller, who has committed the given number of bytes.
func (p *pace) wait(bytes int64) {
	if perByte := p.perByte.Load(); perByte > 0 {
		start := time.Now()
		time.Sleep(min(time.Duration(bytes*perByte), maxPause))
		p.delayed.Add(int64(time.Since(start)))
	}
}
