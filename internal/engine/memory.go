package engine

import (
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/table"
)

// memory divides what is in use of the memory limit: memtables take what they need, and decoded
// blocks get the rest. Safe for concurrent use.
type memory struct {
	limit  int64
	cache  *table.Cache // decoded blocks
	active atomic.Int64 // of the active memtable, with the open transaction; set with appending held
	sealed atomic.Int64 // of the sealed memtables; set with mu held
}

// newMemory returns what divides limit bytes.
func newMemory(limit int64) *memory { return &memory{limit: limit, cache: table.NewCache(limit)} }

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
