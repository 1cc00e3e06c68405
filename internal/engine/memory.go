package engine

import (
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// defaultShare of the machine's memory, as a divisor, is the memory limit if the user has set
	// none and that is more than defaultMemoryLimit; at most maxDefaultLimit. Several databases of
	// a process share what exceeds defaultMemoryLimit: those that need it first get it.
	defaultShare    = 8
	maxDefaultLimit = 4 << 30
	// forgetBytes of tables and value files, all of them in memory, are forgotten in about 10 ms.
	forgetBytes = 256 << 20
)

// memory divides the live memory: memtables take what they need, and decoded blocks get the rest.
// Safe for concurrent use.
type memory struct {
	limit  int64
	cache  *table.Cache // decoded blocks
	help   helpers      // of the scans that fill the cache
	extra  atomic.Int64 // for decoded blocks, beyond the limit; counted by extras
	closed atomic.Bool  // nothing beyond the limit any more
	active atomic.Int64 // of the active memtable, with the open transaction; set with appending held
	sealed atomic.Int64 // of the sealed memtables; set with mu held
	mu     sync.Mutex   // held to divide, so that the newest figures win
}

// newMemory returns the memory of a database with these options.
func newMemory(o *Options) *memory {
	m := &memory{limit: o.heapBytes()}
	m.cache = table.NewCache(m.limit)
	m.cache.SetHelp(m.help.start)
	if o.growsMemory {
		m.cache.OnFull(m.grow)
	}
	return m
}

// extras counts the bytes that the caches of this process have beyond their limits.
var extras atomic.Int64

// grow lets decoded blocks have what is left of the default share of the machine's memory, which is
// too costly to ask for when every database is opened.
func (m *memory) grow() {
	size := min(vfs.MemorySize(), debug.SetMemoryLimit(-1))
	share := min(size/defaultShare, maxDefaultLimit)/heapShare - m.limit
	for taken := extras.Load(); taken < share; taken = extras.Load() {
		if extras.CompareAndSwap(taken, share) {
			m.extra.Store(share - taken)
			break
		}
	}
	if m.closed.Load() {
		m.giveBack() // close may have come too early to do it
	}
	m.divide()
}

// close gives up all decoded blocks, and lets other databases have what grow has taken.
func (m *memory) close() {
	m.help.close()
	m.closed.Store(true)
	m.giveBack()
	m.cache.Clear() // evicting them one by one takes 0.1 s for some GiB
	m.divide()
}

func (m *memory) giveBack() { extras.Add(-m.extra.Swap(0)) }

// forget takes blocks out of memory, and up to forgetBytes of tables and value files. The collector
// would do so only in its second cycle from now: the first one finds the tables, whose cleanups
// then give up their blocks.
func (e *Engine) forget() {
	levels, left := e.state.Load().Levels, uint64(forgetBytes)
	levels.Each(func(h superversion.Handle) {
		h.Table.Clear()
		if h.Meta.Size <= left && h.Table.Forget() {
			left -= h.Meta.Size
		}
	})
	for _, f := range levels.Version.ValueFiles {
		if f.Size <= left && levels.Values(f.Number).Forget() {
			left -= f.Size
		}
	}
}

// memtables returns how many bytes all memtables take.
func (m *memory) memtables() int64 { return m.active.Load() + m.sealed.Load() }

// setActive notes how many bytes the active memtable takes.
func (m *memory) setActive(bytes int64) {
	m.active.Store(bytes)
	m.divide()
}

// setSealed notes how many bytes the sealed memtables take.
func (m *memory) setSealed(bytes int64) {
	m.sealed.Store(bytes)
	m.divide()
}

// divide gives decoded blocks what memtables leave.
func (m *memory) divide() {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := m.limit - m.memtables()
	m.cache.SetLimit(max(left, m.limit/cacheShare) + m.extra.Load())
}
