package table

import (
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/block"
)

// unitBytes is what a unit takes beyond what it holds, roughly.
const unitBytes = 256

// slots is what of a block is in memory. It lies apart from the reader, so that the cache does not
// keep the reader reachable.
type slots struct {
	keys    slot[block.Keys]
	flat    slot[block.Column] // the keys in full, for cursors
	values  slot[block.Column]
	encoded slot[stored]
	heads   slot[block.Heads] // the first bytes of the values that are encoded alone

	evicted atomic.Uint32 // when the values were evicted last, by the cache's count; 0: never
}

// stored is the values of a block as they are stored, if each is encoded alone.
type stored struct {
	block.Encoded
	spent atomic.Uint32 // bytes of values that were decoded one by one, since it was last asked
}

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
	charge // its first field is beside what is used with it
	item   T
	home   *slot[T]
}

// newUnit returns an empty unit for a slot.
func newUnit[T any](home *slot[T], class class) *unit[T] {
	return &unit[T]{charge: charge{class: class, bytes: unitBytes}, home: home}
}

func (u *unit[T]) leave() { u.home.CompareAndSwap(u, nil) }

// resident is a unit of any type.
type resident interface {
	leave() // empties the slot
	base() *charge
}

// charge is what the cache has to know of a unit.
type charge struct {
	hot     atomic.Bool // used since the clock's hand last passed
	class   class
	evicted *atomic.Uint32 // of its block, if it has values
	bytes   int64

	// Guarded by the cache's mutex.
	passing bool // it is among those that are in passing
	at      int  // its index among them, or in the ring
}

func (c *charge) base() *charge { return c }

// touch notes that the unit is of use. It writes only once a round of the clock, so that readers
// share the cache line.
func (c *charge) touch() {
	if !c.hot.Load() {
		c.hot.Store(true)
	}
}

// settle puts a new unit in its slot and in the cache's charge, unless another goroutine was
// faster, and returns what is in the slot now.
func settle[T any](c *Cache, u *unit[T], why reason) *T {
	for !u.home.CompareAndSwap(nil, u) {
		if other := u.home.Load(); other != nil {
			return &other.item
		}
	}
	c.add(u, why)
	return &u.item
}
