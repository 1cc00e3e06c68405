package engine

import (
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/table"
)

// memory divides what is in use of the memory limit: memtables take what they need, and decoded
// blocks get the rest. Safe for concurrent use.
type memory struct {
	limit  int64
	cache  *table.Cache // decoded blocks
	active atomic.Int64 // of the active memtable, with the open transaction; set with turn held
	sealed atomic.Int64 // of the sealed memtables; set with mu held
}

// memtables returns how much all memtables take.
func (m *memory) memtables() int64 { return m.active.Load() + m.sealed.Load() }

// setActive notes how much the active memtable takes.
func (m *memory) setActive(bytes int64) {
	m.active.Store(bytes)
	m.divide()
}

// setSealed notes how much the sealed memtables take.
func (m *memory) setSealed(bytes int64) {
	m.sealed.Store(bytes)
	m.divide()
}

// divide gives decoded blocks what the memtables leave.
func (m *memory) divide() { m.cache.SetLimit(max(m.limit-m.memtables(), m.limit/cacheShare)) }

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

// wait holds back the caller, who has committed so many bytes.
func (p *pace) wait(bytes int64) {
	if perByte := p.perByte.Load(); perByte > 0 {
		start := time.Now()
		time.Sleep(min(time.Duration(bytes*perByte), maxPause))
		p.delayed.Add(int64(time.Since(start)))
	}
}
