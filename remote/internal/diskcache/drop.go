package diskcache

import "slices"

// Drop forgets the objects that are not needed any more, and removes the segments that have nothing
// else. What it forgets in the others takes its space until they are the oldest.
func (c *Cache) Drop(needed func(ID) bool) {
	c.writing.Lock()
	defer c.writing.Unlock()
	obsolete := c.obsolete(needed)
	if len(obsolete) == 0 {
		return
	}
	for i := len(c.segments) - 1; i >= 0; i-- {
		if c.dropFrom(i, obsolete) {
			continue
		}
		if err := c.remove(i); err != nil {
			c.fail(err)
			return
		}
	}
}

// obsolete returns the objects that are not needed any more.
func (c *Cache) obsolete(needed func(ID) bool) map[ID]bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids := map[ID]bool{}
	for id := range c.objects {
		if !needed(id) {
			ids[id] = true
		}
	}
	return ids
}

// dropFrom forgets what a segment has of some objects, and reports whether it has anything else.
// Reads wait for one segment only.
func (c *Cache) dropFrom(i int, obsolete map[ID]bool) (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.segments[i]
	s.pieces = slices.DeleteFunc(s.pieces, func(p *piece) bool {
		if obsolete[p.id] {
			delete(c.objects, p.id)
		}
		return obsolete[p.id]
	})
	return len(s.pieces) > 0
}
