package diskcache

import (
	"time"

	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// yieldShare of the bytes, as a divisor, is given back if the disk is full.
	yieldShare = 8
	// spareShare of what the cache has and what is free together, as a divisor, stays free when the
	// cache takes more again. That is more than it has given back, or it would take that at once.
	spareShare = 5
	// growAfter is for how long the cache takes no more once the disk was full, or had no room: twice
	// as long each time that it was full again, up to growRarely. A quota may be full on a disk with
	// room.
	growAfter  = 10 * time.Minute
	growRarely = 24 * time.Hour
)

// growth is when the cache may take more again than a full disk has left it. The one who writes has
// it.
type growth struct {
	looked time.Time     // when the disk was full, or asked for its room
	pause  time.Duration // until it is asked the next time
	grown  bool          // the cache has taken more since the disk was full
}

// setLimit has the cache keep to a limit.
func (c *Cache) setLimit(limit int64) {
	c.limit.Store(limit)
	size := min(max(c.config.Limit/segmentShare, segmentBytesMin), segmentBytesMax)
	c.segment = min(size, max(limit/countShare, segmentBytesMin))
}

// yield gives bytes back to a full disk, the oldest first, and has the cache keep to what is left.
func (c *Cache) yield() error {
	g := &c.growth
	g.looked = c.config.Now()
	if g.grown {
		g.grown, g.pause = false, min(2*g.pause, growRarely)
	}
	most := c.total - c.total/yieldShare
	c.setLimit(min(max(most, LimitMin), c.limit.Load()))
	for len(c.segments) > 0 && c.total > most {
		if err := c.remove(0); err != nil {
			return err
		}
	}
	return nil
}

// grow raises a limit that a full disk has lowered, as far as there is room again. The caller holds
// writing.
func (c *Cache) grow() {
	g, limit := &c.growth, c.limit.Load()
	if limit == c.config.Limit || c.config.Now().Sub(g.looked) < g.pause {
		return
	}
	g.looked = c.config.Now()
	room, known := vfs.Room(c.config.Files, c.config.Dir)
	if !known {
		return // until the cache is opened again, what is left must do
	}
	all := c.total + room
	if most := min(all-all/spareShare, c.config.Limit); most > limit {
		c.setLimit(most)
		g.grown = true
	}
}

// HasRoom reports whether the cache has room for some more bytes, while a share of its limit, given
// as a divisor, stays free.
func (c *Cache) HasRoom(bytes, share int64) bool {
	c.writing.Lock()
	defer c.writing.Unlock()
	has := func() bool {
		limit := c.limit.Load()
		return c.total+bytes <= limit-limit/share
	}
	if has() {
		return true
	}
	c.grow()
	return has()
}
