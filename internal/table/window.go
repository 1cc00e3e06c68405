package table

import (
	"bytes"
	"runtime"
	"sort"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// window is the part of a block that a [Cursor] holds: all entries, or a few neighbours.
type window struct {
	keys    block.Column // in full
	kinds   []byte
	content // of the whole block, except that the values are those of the window if decoded
	block   int
	first   int  // the index in the block of the window's first entry
	loaded  bool // whether the values are loaded; with ReadStored, Load does that

	// Whether, as far as is known, no entry beyond the window is within the bounds.
	atUpper, atLower bool
}

// open opens the table and forgets how the last move ended.
func (c *Cursor) open() bool {
	c.giveUpAhead()
	if c.reader == nil {
		if c.reader, c.err = c.table.opened(); c.err != nil {
			return c.stop()
		}
	}
	c.err, c.done, c.passed = nil, false, 0
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
	c.giveUpAhead()
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
		c.passed += c.count
		c.prefetch(b, d)
		if x, ok := c.loadAhead(b, d); ok {
			c.content = x
			return c.enterLoaded(b, d)
		}
	}
	return c.enter(b, d)
}

// enterLoaded is enter for a block whose content is loaded.
func (c *Cursor) enterLoaded(b int, d keyspace.Direction) bool {
	at := 0
	if d == keyspace.Reverse {
		at = c.parsed.Len() - 1
	}
	if c.scope.Once && c.reach(c.parsed, c.flat, at, d, scan) <= 0 {
		return c.finish()
	}
	c.loaded = true
	return c.show(b, at)
}

// enter moves to the entry of block b that comes first in direction d, to scan the block. If only
// its key part is in memory, that may lie in the map of a file that has failed since it was read.
func (c *Cursor) enter(b int, d keyspace.Direction) (ok bool) {
	keys, err := c.reader.keys(b, scan)
	if err != nil {
		return c.fail(err)
	}
	at := 0
	if d == keyspace.Reverse {
		at = keys.Len() - 1
	}
	if c.reader.slots[b].flat.Load() != nil {
		return c.load(b, keys, at, d, scan)
	}
	err = c.reader.check(c.reader.index.places[b].keys, func() error {
		ok = c.load(b, keys, at, d, scan)
		return nil
	})
	if err != nil {
		return c.fail(err)
	}
	return ok
}

// load moves to entry at of block b, on the way in direction d. The window becomes the entries
// within the scope, if they are few, otherwise the whole block.
func (c *Cursor) load(
	b int, keys *block.Keys, at int, d keyspace.Direction, why access,
) bool {
	if c.scope.Once {
		var flat *block.Column
		if why == scan {
			if u := c.reader.slots[b].flat.Load(); u != nil {
				flat = &u.item
			}
		}
		n := c.reach(keys, flat, at, d, why)
		if n <= 0 {
			return c.finish()
		}
		if takesPart(n) && !(n == keys.Len() && takesWhole(c.passed)) {
			if loaded, err := c.loadPart(b, keys, at, n, d); loaded || err != nil {
				return err == nil || c.fail(err)
			}
		}
	}
	c.parsed, c.cold = keys, false
	if c.loaded = c.scope.decodes(); c.loaded {
		if err := c.content.loadValues(c.reader, b, c.scope, why); err != nil {
			return c.fail(err)
		}
	}
	c.flat = c.reader.flat(b, keys, why)
	return c.show(b, at)
}

// show makes all of block b, whose content is loaded, the window, and moves to its entry at.
func (c *Cursor) show(b, at int) bool {
	if c.misses++; !c.cold {
		c.misses = 0
	}
	c.keys, c.kinds = *c.flat, c.parsed.Kinds()
	c.block, c.first, c.at, c.count = b, 0, at, c.parsed.Len()
	runtime.KeepAlive(c)
	return true
}

// reach returns how many entries of a block the scope includes, from entry at on in direction d,
// and notes whether the bounds end there. The limit counts only from where the cursor was
// positioned. flat is the keys in full, or nil; with it, the key part is not touched.
func (c *Cursor) reach(
	keys *block.Keys, flat *block.Column, at int, d keyspace.Direction, why access,
) (n int) {
	s := c.scope
	c.atLower, c.atUpper = d == keyspace.Reverse, d == keyspace.Forward
	if d == keyspace.Reverse {
		first := 0
		if len(s.Lower) > 0 && (flat == nil || bytes.Compare(flat.At(0), s.Lower) < 0) {
			first = searchKeys(keys, flat, s.Lower)
		}
		n = at + 1 - first
	} else {
		end := keys.Len()
		if s.Upper != nil && (flat == nil || bytes.Compare(flat.At(end-1), s.Upper) >= 0) {
			end = searchKeys(keys, flat, s.Upper)
		}
		n = end - at
	}
	if s.Limit > 0 && s.Limit < n && why == lookup {
		n, c.atLower, c.atUpper = s.Limit, false, false
	}
	return n
}

// searchKeys returns the index of the first key that is not below bound. flat is as in reach.
func searchKeys(keys *block.Keys, flat *block.Column, bound []byte) (i int) {
	if flat == nil {
		i, _ = keys.Search(bound)
		return i
	}
	return sort.Search(keys.Len(), func(i int) bool { return bytes.Compare(flat.At(i), bound) >= 0 })
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
	r := c.reader
	if c.scope.Read == ReadHeads {
		head, err := r.head(b, keys, c.scope.HeadBytes, lookup)
		if err != nil {
			return err
		}
		if head != nil {
			c.values, c.encoded = *head, nil
			return nil
		}
	}
	values, from, encoded, err := r.some(b, keys, first, n)
	if err != nil {
		return err
	}
	if values != nil {
		c.values, c.encoded = values.Slice(first-from, n), nil
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
