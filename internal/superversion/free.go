package superversion

import "bytes"

// How far a cursor may go on without comparing keys: an entry that is known to come next, to lie
// within the bounds and not to be deleted is free.

// holds reports whether all that lies ahead of s is within the bounds and not deleted, as it is for
// a cursor over all of the one bucket that there is. Nothing is compared then, so that keys are not
// even looked at.
func (c *Cursor) holds(s *source) bool {
	if !s.measured {
		s.measured = true
		if s.newer > 0 {
			s.within = false
		} else if c.reverse {
			s.within = bytes.Compare(s.smallest(), c.lower) >= 0
		} else {
			s.within = c.upper == nil || bytes.Compare(s.largest(), c.upper) < 0
		}
	}
	return s.within
}

// setFree finds out whether the rest of the winner's leaf or block can be taken without looking.
func (c *Cursor) setFree() {
	if c.passes(c.winner.windowEdge(c.reverse)) {
		c.free = c.winner.ahead(c.reverse)
	}
}

// seekFree finds out how many entries ahead in the winner's leaf or block can be taken without
// looking, when not all of them can: few, if the bounds are those of a short scan. So it looks at
// the next one, the second, the fourth and so on, and then between the last two.
func (c *Cursor) seekFree() {
	most := c.winner.ahead(c.reverse)
	end := 1
	for end <= most && c.passes(c.winner.keyAhead(end, c.reverse)) {
		end *= 2
	}
	free := end / 2
	for end = min(end, most+1); end-free > 1; {
		if mid := (free + end) / 2; c.passes(c.winner.keyAhead(mid, c.reverse)) {
			free = mid
		} else {
			end = mid
		}
	}
	c.free = free
}

// passes reports whether the winner comes to key within the bounds, before the runner-up does and
// before anything is deleted.
func (c *Cursor) passes(key []byte) bool {
	within := c.upper == nil || bytes.Compare(key, c.upper) < 0
	if c.reverse {
		within = bytes.Compare(key, c.lower) >= 0
	}
	return within && (c.winner.newer == 0 || c.winner.gap.Contains(key)) &&
		(c.runnerUp == nil || c.ordered(key, c.runnerUp.key))
}
