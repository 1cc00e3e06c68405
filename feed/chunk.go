package feed

import "github.com/stoatdb/stoat/feed/internal/posting"

// chunk is the entries of a query within one chunk: the numbers in set from low, inclusive, to
// high, exclusive.
type chunk struct {
	base      uint64
	set       posting.Set
	low, high int
}

// count returns the number of entries.
func (c *chunk) count() int { return c.set.Rank(c.high) - c.set.Rank(c.low) }

// at returns the entry at a position, which must be less than count.
func (c *chunk) at(position int, reverse bool) (uint64, bool) {
	if reverse {
		position = c.count() - 1 - position
	}
	n, ok := c.set.Select(c.set.Rank(c.low) + position)
	return c.base + uint64(n), ok
}

// start returns the first entry.
func (c *chunk) start(reverse bool) (uint64, bool) {
	if reverse {
		return c.prev(c.high)
	}
	return c.next(c.low)
}

// follow returns the entry after seq.
func (c *chunk) follow(seq uint64, reverse bool) (uint64, bool) {
	n := int(seq - c.base)
	if reverse {
		return c.prev(n)
	}
	return c.next(n + 1)
}

func (c *chunk) next(from int) (uint64, bool) {
	n, ok := c.set.Next(from)
	return c.base + uint64(n), ok && n < c.high
}

func (c *chunk) prev(before int) (uint64, bool) {
	n, ok := c.set.Prev(before)
	return c.base + uint64(n), ok && n >= c.low
}
