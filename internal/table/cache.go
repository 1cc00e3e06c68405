package table

import (
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/block"
)

// Cache bounds the memory in which tables keep blocks.
//
// A slot is where an open table keeps one form of one block, for example its keys. A unit is what a
// slot holds: the cache keeps it or evicts it as a whole. A read looks into the slot; only if the
// slot is empty, it makes a unit and adds it to the cache.
//
// A large unit, or one that a scan has brought in, is on probation: it is evicted first, unless it
// is used again before that. If its values were evicted not long ago, it skips probation. All other
// units are evicted by the clock algorithm: a hand goes around the units of one miss cost and
// evicts the first that was not used since it last came by; the hands take turns. policy.go decides
// which units are admitted and evicted.
//
// Safe for concurrent use.
type Cache struct {
	decompressor block.Decompressor
	limit, bytes atomic.Int64
	full         atomic.Pointer[func()] // see OnFull
	help         Help                   // nil if nobody helps

	mu        sync.Mutex
	kept      [missCosts]ring
	probation ring  // the newest last, more or less; its hand stays at 0
	added     int64 // bytes of all units ever added
}

// NewCache returns a cache that holds up to limit bytes.
func NewCache(limit int64) *Cache {
	c := new(Cache)
	c.limit.Store(limit)
	return c
}

// SetLimit changes how much the cache holds and evicts what exceeds it.
func (c *Cache) SetLimit(bytes int64) {
	c.limit.Store(bytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shrinkLocked()
}

// OnFull makes the cache call fn once, without locks, when it first has no room for a unit. fn may
// set a higher limit.
func (c *Cache) OnFull(fn func()) { c.full.Store(&fn) }

// Help runs fn in another goroutine. It returns false if it does not, for example if there is no
// processor for it. fn takes at most milliseconds, and blocks for nothing but files.
type Help func(fn func()) bool

// SetHelp makes long scans call help, so that blocks are loaded before a scan gets to them. It must
// be called before the cache is used.
func (c *Cache) SetHelp(help Help) { c.help = help }

// Bytes returns how much the cache holds.
func (c *Cache) Bytes() int64 { return c.bytes.Load() }

// add takes over a unit that has just been put in its slot, or refuses it and empties the slot.
func (c *Cache) add(u resident, why access) {
	x := u.base()
	c.findRoom(x.bytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added += x.bytes
	admission := c.admitLocked(x, why)
	if admission == refused {
		c.emptyLocked(u)
		return
	}
	c.bytes.Add(x.bytes)
	c.shrinkLocked()
	c.listLocked(u, admission)
}

// remove drops a unit, if the cache still has it, and empties its slot.
func (c *Cache) remove(u resident) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := u.base()
	if units := c.listOfLocked(x).units; x.at < len(units) && units[x.at] == u {
		u.leave()
		c.listOfLocked(x).remove(x.at)
		c.bytes.Add(-x.bytes)
	}
}

// Clear gives up all units at once, however many there are. It leaves them in their slots, which
// [Table.Clear] empties.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept, c.probation = [missCosts]ring{}, ring{}
	c.bytes.Store(0)
}

// evictLocked removes a unit from the cache and empties its slot.
func (c *Cache) evictLocked(u resident) {
	c.emptyLocked(u)
	c.listOfLocked(u.base()).remove(u.base().at)
	c.bytes.Add(-u.base().bytes)
}

// emptyLocked empties the slot of a unit for which there is no room, and notes the time.
func (c *Cache) emptyLocked(u resident) {
	if x := u.base(); x.evicted != nil {
		x.evicted.Store(c.timeLocked())
	}
	u.leave()
}

// timeLocked returns the cache's time, which advances with the bytes added; never 0.
func (c *Cache) timeLocked() uint32 { return uint32(c.added/turnBytes) | 1 }

// listLocked puts a unit that was not refused on its list.
func (c *Cache) listLocked(u resident, a admission) {
	x := u.base()
	if x.probation = a == probation; x.probation {
		c.probation.push(u)
	} else {
		c.kept[x.miss].insert(u)
	}
}

// listOfLocked returns the list that a unit is on.
func (c *Cache) listOfLocked(x *charge) *ring {
	if x.probation {
		return &c.probation
	}
	return &c.kept[x.miss]
}
