package table

import (
	"runtime"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// window is the part of a block that a [Cursor] holds: all entries, or a few neighbours.
type window struct {
	keys    block.Column   // in full
	values  block.Column   // decoded; empty if the cursor reads none, or if they are encoded
	encoded *block.Encoded // the values of the whole block, if those of the window are not decoded
	kinds   []byte
	block   int
	parsed  *block.Keys // of the whole block
	first   int         // the index in the block of the window's first entry
	loaded  bool        // whether the values are loaded; with ReadStored, Load does that

	// Whether, as far as is known, no entry beyond the window is within the bounds.
	atUpper, atLower bool
}

// open opens the table and forgets how the last move ended.
func (c *Cursor) open() bool {
	if c.reader == nil {
		if c.reader, c.err = c.table.opened(); c.err != nil {
			return c.stop()
		}
	}
	c.err, c.done = nil, false
	return true
}

// search finds key as [reader.search] does. If ok is false, the cursor has an error.
func (c *Cursor) search(key []byte) (b int, keys *block.Keys, i int, ok bool) {
	if !c.open() {
		return 0, nil, 0, false
	}
	b, keys, i, _, c.err = c.reader.search(key)
	runtime.KeepAlive(c)
	if c.err != nil {
		return 0, nil, 0, c.stop()
	}
	return b, keys, i, true
}

// stop puts the cursor on no entry.
func (c *Cursor) stop() bool {
	c.at, c.count = 0, 0
	return false
}

// finish stops where the bounds end.
func (c *Cursor) finish() bool {
	c.done = true
	return c.stop()
}

func (c *Cursor) fail(err error) bool {
	c.err = err
	return c.stop()
}

// nextWindow moves to the first entry above the window.
func (c *Cursor) nextWindow() bool {
	switch next := c.first + c.count; {
	case c.count == 0:
		return false
	case next == c.parsed.Len():
		return c.leave(c.block+1, keyspace.Forward)
	case c.atUpper:
		return c.finish()
	default:
		return c.load(c.block, c.parsed, next, keyspace.Forward, scan)
	}
}

// prevWindow moves to the last entry below the window.
func (c *Cursor) prevWindow() bool {
	switch {
	case c.count == 0:
		return false
	case c.first == 0:
		return c.leave(c.block-1, keyspace.Reverse)
	case c.atLower:
		return c.finish()
	default:
		return c.load(c.block, c.parsed, c.first-1, keyspace.Reverse, scan)
	}
}

// leave moves on in direction d into the neighbouring block b, if there is one. A cursor that has
// seen all of the block it leaves is likely to go on, so leave prefetches blocks.
func (c *Cursor) leave(b int, d keyspace.Direction) bool {
	if b < 0 || b == len(c.reader.slots) {
		return c.stop()
	}
	if sawAll := c.count > 0 && c.count == c.parsed.Len(); sawAll {
		prefetched := d == keyspace.Reverse && b >= c.asked || d == keyspace.Forward && b <= c.asked
		if !c.moved || !prefetched {
			c.moved, c.asked = true, c.reader.prefetch(b, d, c.scope.Read)
		}
	}
	return c.enter(b, d)
}

// enter moves to the entry of block b that comes first in direction d, to scan the block.
func (c *Cursor) enter(b int, d keyspace.Direction) bool {
	keys, err := c.reader.keys(b, scan)
	if err != nil {
		return c.fail(err)
	}
	at := 0
	if d == keyspace.Reverse {
		at = keys.Len() - 1
	}
	return c.load(b, keys, at, d, scan)
}

// load moves to entry at of block b, on the way in direction d. The window becomes the entries
// within the scope, if they are few, otherwise the whole block.
func (c *Cursor) load(
	b int, keys *block.Keys, at int, d keyspace.Direction, why access,
) bool {
	if c.scope.Once {
		n := c.reach(keys, at, d, why)
		if n <= 0 {
			return c.finish()
		}
		if takesPart(n) {
			if loaded, err := c.loadPart(b, keys, at, n, d); loaded || err != nil {
				return err == nil || c.fail(err)
			}
		}
	}
	if c.loaded = c.scope.decodes(); c.loaded {
		if err := c.loadValues(b, keys, why); err != nil {
			return c.fail(err)
		}
	}
	c.keys = *c.reader.flat(b, keys, why)
	c.parsed, c.kinds = keys, keys.Kinds()
	c.block, c.first, c.at, c.count = b, 0, at, keys.Len()
	runtime.KeepAlive(c)
	return true
}

// reach returns how many entries of a block the scope includes, from entry at on in direction d,
// and notes whether the bounds end there. The limit counts only from where the cursor was
// positioned.
func (c *Cursor) reach(keys *block.Keys, at int, d keyspace.Direction, why access) (n int) {
	s := c.scope
	c.atLower, c.atUpper = d == keyspace.Reverse, d == keyspace.Forward
	if d == keyspace.Reverse {
		first := 0
		if len(s.Lower) > 0 {
			first, _ = keys.Search(s.Lower)
		}
		n = at + 1 - first
	} else {
		end := keys.Len()
		if s.Upper != nil {
			end, _ = keys.Search(s.Upper)
		}
		n = end - at
	}
	if s.Limit > 0 && s.Limit < n && why == lookup {
		n, c.atLower, c.atUpper = s.Limit, false, false
	}
	return n
}

// loadPart makes n entries of block b the window: entry at and those beyond it in direction d. It
// reports false if they are too large.
func (c *Cursor) loadPart(
	b int, keys *block.Keys, at, n int, d keyspace.Direction,
) (loaded bool, err error) {
	first := at
	if d == keyspace.Reverse {
		first = at + 1 - n
	}
	full, ok := c.scope.Scratch.Keys(keys, first, n)
	if !ok {
		return false, nil
	}
	if c.loaded = c.scope.decodes(); c.loaded {
		if err := c.loadPartValues(b, keys, first, n); err != nil {
			return false, err
		}
	}
	c.keys, c.parsed, c.kinds = full, keys, keys.Kinds()
	if c.kinds != nil {
		c.kinds = c.kinds[first : first+n]
	}
	c.block, c.first, c.at, c.count = b, first, at-first, n
	runtime.KeepAlive(c)
	return true, nil
}

// loadPartValues loads n values of block b into the window.
func (c *Cursor) loadPartValues(b int, keys *block.Keys, first, n int) error {
	if loaded, err := c.loadHead(b, keys, lookup); loaded || err != nil {
		return err
	}
	r := c.reader
	values, encoded, err := r.some(b, keys, first, n)
	if err != nil {
		return err
	}
	if values != nil {
		c.values, c.encoded = values.Slice(first, n), nil
		return nil
	}
	c.encoded = &encoded.Encoded
	return r.decoding(b, encoded, func(d *block.Dictionary) error {
		some, ok, err := c.scope.Scratch.Values(&encoded.Encoded, d, keys.Kinds(), first, n)
		if ok {
			c.values, c.encoded = some, nil
		}
		return err
	})
}

// loadValues loads all values of block b into the window.
func (c *Cursor) loadValues(b int, keys *block.Keys, why access) error {
	if loaded, err := c.loadHead(b, keys, why); loaded || err != nil {
		return err
	}
	r := c.reader
	values, encoded, err := r.values(b, keys, why)
	if encoded != nil && c.scope.decodes() && r.cache.decodesWindow(encoded, why) {
		if c.scope.Read == ReadHeads {
			values, err = r.heads(b, keys, encoded, c.scope.HeadBytes, why)
		} else {
			values, err = r.decode(b, keys, encoded, why)
		}
	}
	if err != nil {
		return err
	}
	if c.encoded = nil; values == nil {
		c.encoded = &encoded.Encoded
		return nil
	}
	c.values = *values
	return nil
}

// loadHead makes the first bytes of the only value of block b the window's values, if the cursor
// needs no more of a value that is costly to decode as a whole.
func (c *Cursor) loadHead(b int, keys *block.Keys, why access) (loaded bool, err error) {
	if c.scope.Read != ReadHeads {
		return false, nil
	}
	head, err := c.reader.head(b, keys, c.scope.HeadBytes, why)
	if head == nil || err != nil {
		return false, err
	}
	c.values, c.encoded = *head, nil
	return true, nil
}
