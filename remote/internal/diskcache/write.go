package diskcache

import (
	"errors"
	"fmt"
	"slices"
)

// Put keeps the bytes of an object from at on, as far as the cache lacks them. It may keep less, or
// nothing.
func (c *Cache) Put(id ID, data []byte, at int64) {
	if c.broken.Load() {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.RLock()
	closed := c.closed
	missing := c.missingLocked(id, uint64(at), uint64(at)+uint64(len(data)))
	c.mu.RUnlock()
	if closed || len(data) == 0 {
		return
	}
	if err := c.write(id, data, uint64(at), missing); err != nil {
		c.fail(err)
	}
}

// fail has the cache take nothing more.
func (c *Cache) fail(err error) {
	c.broken.Store(true)
	c.config.Warn(fmt.Errorf("nothing more is kept in %s: %w", c.config.Dir, err))
}

// write writes the missing spans of data, which is that of an object from at on.
func (c *Cache) write(id ID, data []byte, at uint64, missing []span) error {
	for _, s := range missing {
		for s.from < s.to {
			n := min(s.to-s.from, pieceBytes)
			p := &piece{id: id, at: s.from, length: uint32(n)}
			if err := c.append(p, data[s.from-at:][:n]); err != nil {
				return err
			}
			s.from += n
		}
	}
	return nil
}

// append writes one piece. The caller holds writing.
func (c *Cache) append(p *piece, data []byte) error {
	record := appendRecord(nil, p, data)
	if !c.current || c.last().size+int64(len(record)) > c.segment {
		if err := c.rotate(); err != nil {
			return err
		}
	}
	return c.appendRecord(p, record)
}

// appendRecord writes a record to the current segment, which has room for it.
func (c *Cache) appendRecord(p *piece, record []byte) error {
	s := c.last()
	if _, err := s.file.WriteAt(record, s.size); err != nil {
		return err
	}
	p.of, p.offset = s, s.size+headerBytes
	s.size += int64(len(record))
	c.total += int64(len(record))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addLocked(p)
	return nil
}

func (c *Cache) last() *segment { return c.segments[len(c.segments)-1] }

// rotate starts a new segment, and removes the oldest ones if both would pass the limit. Some of
// what was used in them goes into the new one. If there are too many segments, all of what is in
// small ones does.
func (c *Cache) rotate() error {
	var carried []carried
	for len(c.segments) > 0 && c.total+c.segment > c.config.Limit {
		carried = c.carry(carried)
		if err := c.remove(0); err != nil {
			return err
		}
	}
	if int64(len(c.segments)) >= c.config.Limit/c.segment*countShare {
		var err error
		if carried, err = c.merge(carried); err != nil {
			return err
		}
	}
	file, err := c.folder.Create(c.path(c.next))
	if err != nil {
		return err
	}
	s := &segment{number: c.next, file: file, size: startBytes}
	c.next++
	if _, err := file.WriteAt(segmentStart(c.config.Owner), 0); err != nil {
		return errors.Join(err, file.Close())
	}
	c.mu.Lock()
	c.segments, c.current = append(c.segments, s), true
	c.mu.Unlock()
	c.total += startBytes
	for _, again := range carried {
		if err := c.appendRecord(again.piece, again.record); err != nil {
			return err
		}
	}
	return nil
}

// carried is a piece that is written again.
type carried struct {
	piece  *piece
	record []byte
}

// carry adds the pieces of the oldest segment that were used since they were written, the newest
// first, as far as there is room for them.
func (c *Cache) carry(all []carried) []carried {
	room := c.room(all)
	for _, p := range slices.Backward(c.pieces(0)) {
		if p.used.Load() && int64(p.length)+headerBytes <= room {
			all = appendCarried(all, p)
			room = c.room(all)
		}
	}
	return all
}

// merge adds all pieces of small segments, the newest first, as far as there is room for those of
// one, and removes these segments.
func (c *Cache) merge(all []carried) ([]carried, error) {
	for i := len(c.segments) - 1; i >= 0; i-- {
		if c.segments[i].size > c.room(all) {
			continue
		}
		for _, p := range c.pieces(i) {
			all = appendCarried(all, p)
		}
		if err := c.remove(i); err != nil {
			return all, err
		}
	}
	return all, nil
}

// room returns how many bytes of other segments a new one may begin with, besides those given.
func (c *Cache) room(all []carried) int64 {
	room := c.segment / carryShare
	for _, other := range all {
		room -= int64(len(other.record))
	}
	return room
}

// pieces returns the pieces in a segment.
func (c *Cache) pieces(i int) []*piece {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.segments[i].pieces)
}

// appendCarried appends a piece, unless it is damaged.
func appendCarried(all []carried, p *piece) []carried {
	data := make([]byte, p.length)
	if p.read(data, 0) != nil {
		return all
	}
	again := &piece{id: p.id, at: p.at, length: p.length}
	return append(all, carried{again, appendRecord(nil, again, data)})
}

// remove removes a segment with all pieces in it.
func (c *Cache) remove(i int) error {
	c.mu.Lock()
	s := c.segments[i]
	c.segments = slices.Delete(c.segments, i, i+1)
	c.current = c.current && i < len(c.segments)
	for _, p := range s.pieces {
		c.forgetLocked(p)
	}
	err := s.file.Close()
	c.mu.Unlock()
	c.total -= s.size
	return errors.Join(err, c.folder.Remove(c.path(s.number)))
}
