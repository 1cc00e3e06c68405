package table

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/vfs"
)

// The policy of the cache: in which forms blocks are kept, and which are admitted and evicted.
//
// A block may be in memory in six forms at once, each a unit of its own:
//
//	keys     the key part as it is stored: lookups search it
//	flat     all keys in full: what a cursor indexes that scans the block
//	encoded  the values as they are stored, if each is encoded alone
//	values   all values, decoded: in place if the block is not compressed
//	heads    the first bytes of all values, decoded
//	outline  where the values lie in the file, if a few can be read without the rest
//
// A lookup or a short scan decodes only the entries that it reads and keeps nothing ([takesPart]),
// until that has cost about as much as decoding the block ([Cache.decodesBlock]). A scan decodes
// whole blocks ([Cache.decodesWindow]), or only heads if it needs no more.
//
// BenchmarkPolicy measures that. Times of other rules, relative to this one, for values that are
// encoded one by one in a cache with room for a fifth of them decoded, and for all:
//
//	                                    a fifth fits            all fit
//	entries per read                   1     10  1,000      1     10  1,000
//	lookups never decode blocks      1.0    0.9    1.2    4.4    7.3    1.3
//	lookups always decode blocks      34    5.9    0.9   0.85    0.7    0.9
//	no parts, only whole blocks      1.0    1.9    0.9    1.0    1.2    1.2
//
// A sum over the first fields of 1,000,000 records of 210 bytes takes 39 ns a record with heads,
// which all fit, and 298 ns with whole values, which do not.

const (
	// roomShare says, as a divisor of a block's bytes, how many of them single reads decode before
	// all values are decoded, while the cache has room. A smaller part of the block would be decoded
	// in vain too often by reads that come to each block a few times, as the first reads after
	// opening do. Without room, all of them must have been, so that what may be in vain never costs
	// more than what was of use.
	roomShare = 8
	// orderWeight is how many times its bytes a read weighs that starts where the previous one ended:
	// reads in order are likely to go on to the end of the block.
	orderWeight = 4
	// leastApart is the least size of a value block of which values are read apart from the rest. A
	// smaller one is hardly more than the page of a file that has the value.
	leastApart = 12 << 10
	// apartBytes is what a read of values apart counts for at least: it takes far longer than what
	// they are of their block.
	apartBytes = 1 << 10
	// followShare of a block, as a divisor, is what a read apart counts for that starts where the
	// previous one ended: to read each value of a block apart takes much longer than to read it.
	followShare = 2
	// seekShare of a block, as a divisor, is what a seek that takes the whole block counts for: few
	// reads follow it, or many.
	seekShare = 8
	// decodesShare is how many bytes of missDecodes units the clock passes for each byte of
	// missReads units.
	decodesShare = 4
	// looksPerByte bounds how many bytes of units are looked at to make room for each byte to be
	// decoded. If few of them are cold, they are worth as much as what would replace them.
	looksPerByte = 2
	// stepsMax bounds how many units of a kind are looked at for each new unit; so does half of all.
	stepsMax = 512
	// anyShare is how many units on probation are evicted newest first for each that is picked at
	// random: a repeated scan finds its first blocks again, and old units go eventually.
	anyShare = 16
	// largeShare of the limit, as a divisor, is the largest unit that always evicts others to make
	// room. A larger unit does so only when it returns: a pass over many large values leaves the
	// rest alone, and values that are read again get warm. A unit above mostShare of the limit, as a
	// divisor, never does. Units of up to largeMin bytes are never large, if they fit at all.
	largeShare = 32
	mostShare  = 2
	largeMin   = 64 << 10
	// turnBytes is how many bytes must enter the cache for its clock to advance by 1.
	turnBytes = 4 << 10
)

// access is why a read needs a block.
type access uint8

const (
	lookup access = iota // for some entries of it
	scan                 // on the way through all of it
)

// missCost is what a read pays if a unit is not in the cache.
type missCost uint8

const (
	missReads   missCost = iota // it reads the block again
	missDecodes                 // it decodes the values that it wants
	missCosts                   // the number of costs
)

// admission is what the cache does with a new unit.
type admission uint8

const (
	admitted  admission = iota // kept as long as it is used
	probation                  // evicted first, unless it is used before that
	refused                    // not kept: there is no room
)

// takesPart reports whether a cursor that reads n entries of a block loads only those.
func takesPart(n int) bool { return n <= block.PartMax }

// takesWhole reports whether a cursor that has passed n entries of whole blocks loads another one
// as a whole, however few entries it has.
func takesWhole(passed int) bool { return passed > block.PartMax }

// decodesBlock reports whether a read of the given number of bytes of a block's values, each
// encoded alone, should decode all of them. Until one does, each call writes to memory that the
// block's readers share.
func (c *Cache) decodesBlock(s *stored, bytes int) bool {
	return c.takesBlock(&s.tally, s.DecodedBytes(), bytes)
}

// takesBlock reports whether reads of single values, of which the last one weighs so many bytes,
// make the whole block, of all bytes, worth having in memory. It counts that one in the tally.
func (c *Cache) takesBlock(t *tally, all, bytes int) bool {
	spent := int(t.spent.Add(uint32(bytes)))
	room, due := c.findRoom(int64(all)), spent >= all
	if room {
		due = spent >= all/roomShare
	}
	if !due {
		return false
	}
	t.spent.Store(0)
	return room || c.makeRoom(int64(all))
}

// weigh returns what a read of n values, from value first on, counts for in decodesBlock: their
// bytes, or more if the reads come in order.
func (s *stored) weigh(first, n int) (bytes int) {
	for i := first; i < first+n; i++ {
		bytes += s.Length(i)
	}
	if s.follows(first, n) {
		bytes *= orderWeight
	}
	return bytes
}

// weigh returns what a read of n values apart, from value first on, counts for in takesBlock.
func (o *outline) weigh(first, n int) int {
	from, to := o.Place(first, n)
	bytes := max(to-from, apartBytes)
	if o.follows(first, n) {
		bytes = max(bytes, o.ValueBytes()/followShare)
	}
	return bytes
}

// decodesWindow reports whether a cursor whose window is a whole block decodes its values.
func (c *Cache) decodesWindow(s *stored, why access) bool {
	return why == scan || c.decodesBlock(s, s.DecodedBytes()/seekShare)
}

// admitLocked decides what becomes of a new unit. Others are evicted for it unless it is large,
// although it has had no chance to be used yet.
func (c *Cache) admitLocked(x *charge, why access) admission {
	limit := c.limit.Load()
	large := x.bytes > min(limit, max(limit/largeShare, largeMin))
	returns := c.returnsLocked(x)
	// Only values are counted when they are evicted. Keys are never as large.
	makesRoom := !large || x.bytes <= limit/mostShare && (returns || x.evicted == nil)
	switch {
	case !makesRoom && !c.hasRoom(x.bytes):
		return refused
	case (large || why == scan) && !returns:
		return probation
	default:
		return admitted
	}
}

// returnsLocked reports whether a unit was evicted so recently that the cache would still have it
// if it had kept everything since.
func (c *Cache) returnsLocked(x *charge) bool {
	if x.evicted == nil {
		return false
	}
	last := x.evicted.Load()
	return last != 0 && int64(c.timeLocked()-last) <= c.limit.Load()/turnBytes
}

func (c *Cache) hasRoom(bytes int64) bool { return c.bytes.Load()+bytes <= c.limit.Load() }

// findRoom is hasRoom, after the call of OnFull if there is none without it.
func (c *Cache) findRoom(bytes int64) bool {
	if c.hasRoom(bytes) {
		return true
	}
	if c.full.Load() == nil {
		return false
	}
	if fn := c.full.Swap(nil); fn != nil {
		(*fn)()
	}
	return c.hasRoom(bytes)
}

// makeRoom reports whether that many more bytes fit. If needed, it evicts cold units, as far as it
// finds them soon.
func (c *Cache) makeRoom(bytes int64) bool {
	if bytes > c.limit.Load()/mostShare {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for looked := int64(0); !c.hasRoom(bytes); {
		switch r := c.turnLocked(); {
		case len(c.probation.units) > 0:
			c.endProbationLocked()
		case len(r.units) == 0 || looked > bytes*looksPerByte:
			return false
		default:
			looked += c.stepLocked(r)
		}
	}
	return true
}

// shrinkLocked evicts units until the rest fit the limit. After a bounded number of steps it evicts
// even units in use, so that it ends soon and the hand does not pass a hot unit twice meanwhile.
func (c *Cache) shrinkLocked() {
	steps := 1
	for i := range c.kept {
		steps += min(len(c.kept[i].units)/2, stepsMax)
	}
	for c.bytes.Load() > c.limit.Load() {
		switch r := c.turnLocked(); {
		case len(c.probation.units) > 0:
			c.endProbationLocked()
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

// turnLocked returns the ring whose hand moves next; it is empty only if all rings are.
func (c *Cache) turnLocked() *ring {
	decodes, reads := &c.kept[missDecodes], &c.kept[missReads]
	switch {
	case len(decodes.units) == 0:
		decodes.looked = decodesShare * reads.looked
		return reads
	case len(reads.units) == 0:
		reads.looked = decodes.looked / decodesShare
		return decodes
	case decodes.looked > decodesShare*reads.looked:
		return reads
	}
	return decodes
}

// endProbationLocked evicts a unit on probation, or admits it if it was used.
func (c *Cache) endProbationLocked() {
	units := c.probation.units
	at := len(units) - 1
	if n := vfs.Scatter(uint64(c.added)); n%anyShare == 0 {
		at = int(n/anyShare) % len(units)
	}
	u := units[at]
	x := u.base()
	if !x.hot.Swap(false) {
		c.evictLocked(u)
		return
	}
	c.probation.remove(at)
	c.listLocked(u, admitted)
}

// stepLocked moves a hand past the next unit, or evicts it if it is cold, and returns its size.
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
