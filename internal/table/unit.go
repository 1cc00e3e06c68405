package table

import (
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/block"
)

// unitBytes is roughly a unit's overhead.
const unitBytes = 256

// slots has the parts of a block that are in memory: a slot for each form. Slots are allocated
// apart from the reader, so the cache does not keep the reader reachable.
type slots struct {
	keys    slot[block.Keys]
	flat    slot[block.Column]
	values  slot[block.Column]
	encoded slot[stored]
	heads   slot[block.Heads]
	outline slot[outline]

	evicted atomic.Uint32 // when the values were last evicted, in the cache's time; 0: never
	coded   atomic.Bool   // the values are known not to be stored as they are
}

// clear empties all slots and leaves the cache as it is.
func (s *slots) clear() {
	s.keys.clear()
	s.flat.clear()
	s.values.clear()
	s.encoded.clear()
	s.heads.clear()
	s.outline.clear()
}

// stored is the values of a block as they are stored, if each is encoded alone.
type stored struct {
	block.Encoded
	tally
}

// outline is where the values of a block lie in a file that verifies what is read from it.
type outline struct {
	block.Outline
	tally
}

// tally counts reads of single values of a block that is not in memory as a whole.
type tally struct {
	spent atomic.Uint32 // what they weigh; see takesBlock
	next  atomic.Uint32 // the index of the value after the last one that was read alone
}

// follows notes a read of n values from value first on, and reports whether it starts where the
// previous one ended.
func (t *tally) follows(first, n int) bool { return int(t.next.Swap(uint32(first+n))) == first }

// slot holds one form of a block while it is in memory. Reading a slot is one atomic load. A
// goroutine that has loaded the unit keeps it alive, even if the cache empties the slot.
type slot[T any] struct {
	atomic.Pointer[unit[T]]
}

// empty removes the unit in the slot, if any, from the slot and the cache.
func (s *slot[T]) empty(c *Cache) {
	if u := s.Load(); u != nil {
		c.remove(u)
	}
}

// clear empties the slot. Most are empty, and a load costs less than a store.
func (s *slot[T]) clear() {
	if s.Load() != nil {
		s.Store(nil)
	}
}

// unit is what a slot holds, and what the cache evicts as a whole.
type unit[T any] struct {
	charge // its first field is used together with item
	item   T
	home   *slot[T]
}

// newUnit returns an empty unit for a slot.
func newUnit[T any](home *slot[T], miss missCost) *unit[T] {
	return &unit[T]{charge: charge{miss: miss, bytes: unitBytes}, home: home}
}

func (u *unit[T]) leave() { u.home.CompareAndSwap(u, nil) }

// resident is a unit of any type.
type resident interface {
	leave() // empties the slot
	base() *charge
}

// charge is what the cache needs to know about a unit.
type charge struct {
	hot     atomic.Bool // used since the clock's hand last passed it
	miss    missCost
	evicted *atomic.Uint32 // of its block, if it has values
	bytes   int64

	// Guarded by the cache's mutex.
	probation bool
	at        int // its index among the units on probation, or in its ring
}

func (c *charge) base() *charge { return c }

// touch notes that the unit was used. It writes only once per round of the clock, so that readers
// share the cache line.
func (c *charge) touch() {
	if !c.hot.Load() {
		c.hot.Store(true)
	}
}

// settle puts a new unit in its slot and adds it to the cache, unless another goroutine was faster.
// It returns what is in the slot now.
func settle[T any](c *Cache, u *unit[T], why access) *T {
	for !u.home.CompareAndSwap(nil, u) {
		if other := u.home.Load(); other != nil {
			return &other.item
		}
	}
	c.add(u, why)
	return &u.item
}
