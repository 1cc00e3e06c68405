package table

import (
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/vfs"
)

// The policy of the cache: what is worth decoding as a whole, what is kept, and what has to go.

const (
	// While there is room for it, a block is decoded as a whole as soon as its values are read again,
	// after this share of it, as a divisor, was decoded in single values; and at once by a read of
	// so large a share that it costs about as much. Without room, all of it has to have been, so that
	// what may be in vain never costs more than what was of use.
	againShare  = 16
	atOnceShare = 4
	// seekShare of a block, as a divisor, is what a seek into it counts for: few reads follow it, or
	// many.
	seekShare = 16
	// savingShare is how many bytes of units that only save to decode single values are looked at,
	// for each of those that reads have to wait for when they are gone.
	savingShare = 4
	// looksPerByte bounds how many bytes of units are looked at to make room for a byte. If few of
	// them are cold, those in the cache are worth as much as what would take their place.
	looksPerByte = 2
	// stepsMost is how many units of a class are looked at when one comes, half of them at most.
	stepsMost = 512
	// anyShare is how many units in passing are evicted for each that is any of them and not the
	// last: a scan that is repeated finds its first blocks again, and old ones go at last.
	anyShare = 16
	// largeShare of the limit, as a divisor, is what a unit may have that makes room for itself at
	// once, so that no single one costs others much. Values that are larger do so when they come
	// back: a pass over many leaves the rest where it is, and few that are read again get warm.
	// Without that they stay as long as nobody needs their room. None of more than mostShare of the
	// limit, as a divisor, ever makes room. Less than leastLarge is not large, if it fits at all.
	largeShare = 32
	mostShare  = 2
	leastLarge = 64 << 10
	// turnBytes is how many bytes a count of the cache is.
	turnBytes = 4 << 10
)

// class says what it costs when a unit is gone. Units of a class are in a ring of their own.
type class uint8

const (
	needed  class = iota // reads have to bring it in again
	saving               // each read has to decode its values
	classes              // so many
)

// reason is why a unit comes into the cache.
type reason uint8

const (
	sought  reason = iota // a read looked for what is in it
	passing               // a scan passes through it
)

// Cache bounds the memory that tables keep decoded blocks in. When there is too much, what scans
// have brought in and nobody has used again goes first. Then it evicts by the clock algorithm: a
// hand goes around all units of a class and takes the first that was not used since it last came
// by; the hands take turns. Finding a unit in its slot does not involve the cache.
//
// Values that a scan brings in once more, not long after they were evicted, are kept. So are large
// ones that anybody brings in once more; the first time they evict nothing.
//
// Safe for concurrent use.
type Cache struct {
	decompressor block.Decompressor
	limit, bytes atomic.Int64

	mu      sync.Mutex
	kept    [classes]ring
	passing []resident // the last one came last, more or less
	added   int64      // bytes of all units that ever came
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
	c.shrinkLocked()
}

// Bytes returns how much the cache holds.
func (c *Cache) Bytes() int64 { return c.bytes.Load() }

// worthDecoding reports whether all values of a block are to be decoded, as so many bytes of them
// are to be read. It writes to memory that readers of the block share, as long as that is not so.
func (c *Cache) worthDecoding(s *stored, bytes int) bool {
	all := s.DecodedBytes()
	spent := int(s.spent.Add(uint32(bytes)))
	room, due := c.hasRoom(int64(all)), spent >= all
	if room {
		due = spent >= all/atOnceShare || spent-bytes >= all/againShare
	}
	if !due {
		return false
	}
	s.spent.Store(0)
	return room || c.makeRoom(int64(all))
}

// hasRoom reports whether so many bytes more fit without evicting anything.
func (c *Cache) hasRoom(bytes int64) bool { return c.bytes.Load()+bytes <= c.limit.Load() }

// makeRoom reports whether so many bytes more fit, and evicts for them what nobody uses, if that is
// found soon.
func (c *Cache) makeRoom(bytes int64) bool {
	if bytes > c.limit.Load()/mostShare {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for looked := int64(0); !c.hasRoom(bytes); {
		switch r := c.turnLocked(); {
		case len(c.passing) > 0:
			c.dropPassingLocked()
		case len(r.units) == 0 || looked > bytes*looksPerByte:
			return false
		default:
			looked += c.stepLocked(r)
		}
	}
	return true
}

// add takes charge of a unit that has just been put in its slot, or empties that again. Others make
// room for it, unless it is large: it has not had a chance to be used yet.
func (c *Cache) add(u resident, why reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := u.base()
	c.added += x.bytes
	large, back := c.isLarge(x), c.isBackLocked(x)
	if large && !c.hasRoom(x.bytes) && !c.makesRoom(x, back) {
		c.forgoLocked(u)
		return
	}
	c.bytes.Add(x.bytes)
	c.shrinkLocked()
	if (why == passing || large) && !back {
		x.passing, x.at = true, len(c.passing)
		c.passing = append(c.passing, u)
		return
	}
	c.kept[x.class].insert(u)
}

func (c *Cache) isLarge(x *charge) bool {
	limit := c.limit.Load()
	return x.bytes > min(limit, max(limit/largeShare, leastLarge))
}

// makesRoom reports whether others have to go for a large unit that is back or not. Keys,
// which do not come back, are never as large as values are.
func (c *Cache) makesRoom(x *charge, back bool) bool {
	return x.bytes <= c.limit.Load()/mostShare && (back || x.evicted == nil)
}

// forgoLocked empties the slot of a unit that there is no room for. It may come back.
func (c *Cache) forgoLocked(u resident) {
	if x := u.base(); x.evicted != nil {
		x.evicted.Store(c.countLocked())
	}
	u.leave()
}

// remove gives up a unit, if the cache still has it, and empties its slot.
func (c *Cache) remove(u resident) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := u.base()
	if units := c.listLocked(x); x.at < len(units) && units[x.at] == u {
		c.removeLocked(u)
	}
}

// countLocked returns how much came into the cache so far; never 0.
func (c *Cache) countLocked() uint32 { return uint32(c.added/turnBytes) | 1 }

// isBackLocked reports whether values were evicted so recently that they would still be here if all
// that came since were kept.
func (c *Cache) isBackLocked(x *charge) bool {
	if x.evicted == nil {
		return false
	}
	last := x.evicted.Load()
	return last != 0 && int64(c.countLocked()-last) <= c.limit.Load()/turnBytes
}

// shrinkLocked makes the units fit the limit. If all that it comes to are in use, the next one
// goes, so that it ends soon, and one that is used all the time is not passed twice meanwhile.
func (c *Cache) shrinkLocked() {
	steps := 1
	for i := range c.kept {
		steps += min(len(c.kept[i].units)/2, stepsMost)
	}
	for c.bytes.Load() > c.limit.Load() {
		switch r := c.turnLocked(); {
		case len(c.passing) > 0:
			c.dropPassingLocked()
		case len(r.units) == 0:
			return
		case steps > 0:
			c.stepLocked(r)
			steps--
		default:
			c.evictLocked(r.next())
		}
	}
}

// turnLocked returns the ring whose hand is to move; it is empty only if all are.
func (c *Cache) turnLocked() *ring {
	first, other := &c.kept[saving], &c.kept[needed]
	switch {
	case len(first.units) == 0:
		first.looked = savingShare * other.looked
		return other
	case len(other.units) == 0:
		other.looked = first.looked / savingShare
		return first
	case first.looked > savingShare*other.looked:
		return other
	}
	return first
}

// dropPassingLocked evicts one of those in passing, or keeps it if it was used.
func (c *Cache) dropPassingLocked() {
	at := len(c.passing) - 1
	if n := vfs.Scatter(uint64(c.added)); n%anyShare == 0 {
		at = int(n/anyShare) % len(c.passing)
	}
	u := c.passing[at]
	x := u.base()
	if !x.hot.Swap(false) {
		c.evictLocked(u)
		return
	}
	c.dropLocked(at)
	x.passing = false
	c.kept[x.class].insert(u)
}

// stepLocked moves a hand past the next unit, or evicts that if it is cold, and returns how large
// it is.
func (c *Cache) stepLocked(r *ring) int64 {
	u := r.next()
	x := u.base()
	r.looked += x.bytes
	if x.hot.Swap(false) {
		r.hand++
	} else {
		c.evictLocked(u)
	}
	return x.bytes
}

// evictLocked is removeLocked of a unit that may come back.
func (c *Cache) evictLocked(u resident) {
	c.forgoLocked(u)
	c.unlistLocked(u.base())
}

// removeLocked takes a unit out of its slot and off the list that it is in.
func (c *Cache) removeLocked(u resident) {
	u.leave()
	c.unlistLocked(u.base())
}

// unlistLocked takes a unit off the list that it is in.
func (c *Cache) unlistLocked(x *charge) {
	c.bytes.Add(-x.bytes)
	if x.passing {
		c.dropLocked(x.at)
	} else {
		c.kept[x.class].remove(x.at)
	}
}

// listLocked returns the list that a unit is in.
func (c *Cache) listLocked(x *charge) []resident {
	if x.passing {
		return c.passing
	}
	return c.kept[x.class].units
}

// dropLocked takes a unit off those in passing; the last one gets its place.
func (c *Cache) dropLocked(at int) {
	last := len(c.passing) - 1
	c.passing[at] = c.passing[last]
	c.passing[at].base().at = at
	c.passing[last] = nil
	c.passing = c.passing[:last]
}
