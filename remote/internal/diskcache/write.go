package diskcache

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/vfs"
)

// rest is for how long nothing is written after the disk has failed.
const rest = time.Minute

// Put keeps the bytes of an object from at on, as far as the cache lacks them. It may keep less, or
// nothing.
func (c *Cache) Put(id ID, data []byte, at int64) {
	if failed := c.failed.Load(); failed != nil && c.config.Now().Sub(*failed) < rest {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.RLock()
	closed := c.closed
	missing := c.missingLocked(id, uint64(at), uint64(at)+uint64(len(data)))
	c.mu.RUnlock()
	if closed || len(missing) == 0 {
		return
	}
	if err := c.write(id, data, uint64(at), missing); err != nil {
		c.fail(err)
	} else if c.failed.Load() != nil {
		c.failed.Store(nil)
	}
}

// fail has the cache take nothing for a while. It warns once, until something was written again.
// The caller holds writing.
func (c *Cache) fail(err error) {
	now := c.config.Now()
	first := c.failed.Swap(&now) == nil
	if errors.Is(err, vfs.ErrNoSpace) {
		err = errors.Join(err, c.yield())
	}
	if first {
		c.config.Warn(fmt.Errorf("nothing is kept in %s until the disk works again: %w", c.config.Dir,
			err))
	}
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
	_, err := s.file.WriteAt(record, s.size)
	p.of, p.offset = s, s.size+headerBytes
	s.size += int64(len(record)) // if it failed, too: nobody knows how much was written
	c.total += int64(len(record))
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.current = false // what follows what is torn would not be found
		return err
	}
	c.addLocked(p)
	return nil
}

func (c *Cache) last() *segment { return c.segments[len(c.segments)-1] }

// rotate starts a new segment, and removes the oldest ones if both would pass the limit. Some of
// what was used in them goes into the new one. If there are too many segments, all of what is in
// small ones does.
func (c *Cache) rotate() error {
	if err := c.unlink(); err != nil {
		return err
	}
	if c.total+c.segment > c.limit.Load() {
		c.grow()
	}
	var carried []carried
	for len(c.segments) > 0 && c.total+c.segment > c.limit.Load() {
		carried = c.carry(carried)
		if err := c.remove(0); err != nil {
			return err
		}
	}
	if int64(len(c.segments)) >= c.limit.Load()/c.segment*countShare {
		var err error
		if carried, err = c.merge(carried); err != nil {
			return err
		}
	}
	if err := c.begin(); err != nil {
		return err
	}
	for _, again := range carried {
		if err := c.appendRecord(again.piece, again.record); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a new segment. If that fails, nothing stays of it.
func (c *Cache) begin() error {
	s := &segment{number: c.next, size: startBytes}
	c.next++
	c.total += startBytes
	var err error
	if s.file, err = c.folder.Create(c.path(s.number)); err == nil {
		if _, err = s.file.WriteAt(segmentStart(c.config.Owner), 0); err != nil {
			err = errors.Join(err, s.file.Close())
		}
	}
	if err != nil {
		c.dropped = append(c.dropped, s)
		return errors.Join(err, c.unlink())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.segments, c.current = append(c.segments, s), true
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
	c.dropped = append(c.dropped, s)
	return errors.Join(err, c.unlink())
}

// unlink removes the files of dropped segments. They count until then, so that the limit is kept
// where files cannot be removed.
func (c *Cache) unlink() error {
	for len(c.dropped) > 0 {
		s := c.dropped[0]
		if err := c.folder.Remove(c.path(s.number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		c.dropped, c.total = c.dropped[1:], c.total-s.size
	}
	return nil
}
