package table

import (
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/block"
)

// unitBytes is what a unit takes beyond what it holds, roughly.
const unitBytes = 256

// slot is where a part of a block is, once it is in memory. Finding it there is one load; whoever
// has loaded it keeps it alive, also when the cache has emptied the slot.
type slot[T any] struct {
	atomic.Pointer[unit[T]]
}

// empty takes what is in the slot out of it and of the cache.
func (s *slot[T]) empty(c *Cache) {
	if u := s.Load(); u != nil {
		c.remove(u)
	}
}

// unit is what a slot holds: one part of a block, to be evicted as a whole.
type unit[T any] struct {
	hot   atomic.Bool // used since the clock's hand last passed; beside what is used with it
	item  T
	home  *slot[T]
	bytes int64
	at    int // index in the cache's ring, guarded by its mutex
}

// touch notes that the unit is of use. It writes only once a round of the clock, so that readers
// share the cache line.
func (u *unit[T]) touch() {
	if !u.hot.Load() {
		u.hot.Store(true)
	}
}

func (u *unit[T]) cool() bool     { return u.hot.Swap(false) }
func (u *unit[T]) leave()         { u.home.CompareAndSwap(u, nil) }
func (u *unit[T]) size() int64    { return u.bytes }
func (u *unit[T]) position() *int { return &u.at }

// resident is a unit of any type.
type resident interface {
	cool() bool     // clears hot and returns what it was
	leave()         // empties the slot
	size() int64    // bytes of memory
	position() *int // where its index in the ring is kept
}

// Cache bounds the memory that tables keep decoded blocks in. When there is too much, it evicts by
// the clock algorithm: a hand goes around all units and takes the first that was not used since it
// last came by. Finding a unit in its slot does not involve the cache.
//
// Safe for concurrent use.
type Cache struct {
	decompressor block.Decompressor
	limit, bytes atomic.Int64

	mu   sync.Mutex
	ring []resident
	hand int
}

// NewCache returns a cache that holds up to limit bytes.
func NewCache(limit int64) *Cache {
	c := new(Cache)
	c.limit.Store(limit)
	return c
}

// SetLimit changes how much the cache holds and evicts what is too much.
func (c *Cache) SetLimit(bytes int64) {
	c.limit.Store(bytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evictLocked()
}

// Bytes returns how much the cache holds.
func (c *Cache) Bytes() int64 { return c.bytes.Load() }

// hasRoom reports whether so many bytes more fit without evicting anything.
func (c *Cache) hasRoom(bytes int) bool { return c.bytes.Load()+int64(bytes) <= c.limit.Load() }

// add takes charge of a unit that has just been put in its slot. Others make room for it: it has
// not had a chance to be used yet.
func (c *Cache) add(u resident) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes.Add(u.size())
	c.evictLocked()
	*u.position() = len(c.ring)
	c.ring = append(c.ring, u)
}

// remove gives up a unit, if the cache still has it, and empties its slot.
func (c *Cache) remove(u resident) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := *u.position(); at < len(c.ring) && c.ring[at] == u {
		c.removeLocked(at)
	}
}

// evictLocked makes the units fit the limit. It ends, even if readers use all units all the time
// and make them hot as fast as the hand cools them.
func (c *Cache) evictLocked() {
	for passed := 0; c.bytes.Load() > c.limit.Load() && len(c.ring) > 0; {
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		if c.ring[c.hand].cool() && passed < 2*len(c.ring) {
			c.hand++
			passed++
			continue
		}
		c.removeLocked(c.hand)
	}
}

// removeLocked takes a unit out of its slot and off the ring; the last unit gets its place.
func (c *Cache) removeLocked(at int) {
	u, last := c.ring[at], len(c.ring)-1
	u.leave()
	c.bytes.Add(-u.size())
	c.ring[at] = c.ring[last]
	*c.ring[at].position() = at
	c.ring[last] = nil
	c.ring = c.ring[:last]
}
