package table

import (
	"runtime"

	"github.com/stoatdb/stoat/internal/block"
)

// How a [Cursor] comes to a block: what of it becomes the window.

// open opens the table and forgets how the last move ended.
func (c *Cursor) open() bool {
	if c.reader == nil {
		if c.reader, c.err = c.table.opened(); c.err != nil {
			return c.leave()
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
		return 0, nil, 0, c.leave()
	}
	return b, keys, i, true
}

// leave puts the cursor on no entry.
func (c *Cursor) leave() bool {
	c.at, c.count = 0, 0
	return false
}

// finish is leave where the bounds end.
func (c *Cursor) finish() bool {
	c.done = true
	return c.leave()
}

// fail is leave with an error.
func (c *Cursor) fail(err error) bool {
	c.err = err
	return c.leave()
}

// nextWindow moves to the first entry behind the window.
func (c *Cursor) nextWindow() bool {
	switch next := c.first + c.count; {
	case c.count == 0:
		return false
	case next == c.parsed.Len():
		return c.goOn(c.block+1, false)
	case c.above:
		return c.finish()
	default:
		return c.load(c.block, c.parsed, next, false, true)
	}
}

// prevWindow moves to the last entry before the window.
func (c *Cursor) prevWindow() bool {
	switch {
	case c.count == 0:
		return false
	case c.first == 0:
		return c.goOn(c.block-1, true)
	case c.below:
		return c.finish()
	default:
		return c.load(c.block, c.parsed, c.first-1, true, true)
	}
}

// goOn is pass into block b, if there is one, from the block before it in that direction. A scan
// that has seen only a part of that one is likely to be short.
func (c *Cursor) goOn(b int, reverse bool) bool {
	if b < 0 || b == len(c.reader.slots) {
		return c.leave()
	}
	if c.count > 0 && c.count == c.parsed.Len() {
		c.askAhead(b, reverse)
	}
	return c.pass(b, reverse)
}

// askAhead makes sure that block b and those behind it are on their way to memory.
func (c *Cursor) askAhead(b int, reverse bool) {
	if past := reverse && b < c.asked || !reverse && b > c.asked; past || !c.moved {
		c.moved, c.asked = true, c.reader.prefetch(b, reverse, c.reading == ReadKeys)
	}
}

// pass moves to the first entry of block b, or to the last, on the way through the whole block.
func (c *Cursor) pass(b int, last bool) bool {
	keys, err := c.reader.keys(b, passing)
	if err != nil {
		return c.fail(err)
	}
	at := 0
	if last {
		at = keys.Len() - 1
	}
	return c.load(b, keys, at, last, true)
}

// load moves to entry at of block b, on the way in the given direction. If whole, that is through
// the whole block, as far as the bounds reach: a cursor for values has all of them decoded.
func (c *Cursor) load(b int, keys *block.Keys, at int, reverse, whole bool) bool {
	if c.bounds != nil {
		n := c.reach(keys, at, reverse, whole)
		if n <= 0 {
			return c.finish()
		}
		if n <= block.PartMax {
			if loaded, err := c.loadPart(b, keys, at, n, reverse); loaded || err != nil {
				return err == nil || c.fail(err)
			}
		}
	}
	if c.loaded = c.reading > ReadKeys; c.loaded {
		if err := c.loadValues(b, keys, whole); err != nil {
			return c.fail(err)
		}
	}
	c.keys = *c.reader.flat(b, keys, reasonFor(whole))
	c.parsed, c.kinds = keys, keys.Kinds()
	c.block, c.first, c.at, c.count = b, 0, at, keys.Len()
	runtime.KeepAlive(c)
	return true
}

// reach returns how many entries of a block, from entry at on, the cursor is to come to, and finds
// out whether there are others behind them in the block, and all of those are beyond the bounds.
func (c *Cursor) reach(keys *block.Keys, at int, reverse, whole bool) (n int) {
	c.above, c.below = false, false
	if reverse {
		first := 0
		if len(c.bounds.Lower) > 0 {
			first, _ = keys.Search(c.bounds.Lower)
		}
		n, c.below = at+1-first, true
	} else {
		end := keys.Len()
		if c.bounds.Upper != nil {
			end, _ = keys.Search(c.bounds.Upper)
		}
		n, c.above = end-at, true
	}
	if limit := c.bounds.Limit; limit > 0 && limit < n && !whole {
		n, c.above, c.below = limit, false, false
	}
	return n
}

// loadPart is load for n entries, which become the window. It reports whether they are small enough
// for that.
func (c *Cursor) loadPart(
	b int, keys *block.Keys, at, n int, reverse bool,
) (loaded bool, err error) {
	first := at
	if reverse {
		first = at + 1 - n
	}
	full, ok := c.bounds.Scratch.Keys(keys, first, n)
	if !ok {
		return false, nil
	}
	if c.loaded = c.reading > ReadKeys; c.loaded {
		if err := c.loadSome(b, keys, first, n); err != nil {
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

// loadSome makes n values of block b those of the window.
func (c *Cursor) loadSome(b int, keys *block.Keys, first, n int) error {
	if loaded, err := c.loadHead(b, keys, sought); loaded || err != nil {
		return err
	}
	r, scratch := c.reader, c.bounds.Scratch
	values, encoded, err := r.contents(b, keys, sought)
	if encoded != nil {
		bytes := 0
		for i := first; i < first+n; i++ {
			bytes += encoded.Length(i)
		}
		if r.cache.worthDecoding(encoded, bytes) {
			values, err = r.decode(b, keys, encoded, sought)
		}
	}
	switch {
	case err != nil:
		return err
	case values != nil:
		c.values, c.encoded = values.Slice(first, n), nil
		return nil
	}
	c.encoded = &encoded.Encoded
	return r.check(r.index.places[b].values, func() error {
		d, err := r.dictionary(encoded.Dictionary)
		if err != nil {
			return err
		}
		some, ok, err := scratch.Values(&encoded.Encoded, d, keys.Kinds(), first, n)
		if ok {
			c.values, c.encoded = some, nil
		}
		return err
	})
}

// loadValues makes the values of block b those of the window.
func (c *Cursor) loadValues(b int, keys *block.Keys, whole bool) error {
	r, why := c.reader, reasonFor(whole)
	if loaded, err := c.loadHead(b, keys, why); loaded || err != nil {
		return err
	}
	values, encoded, err := r.contents(b, keys, why)
	if encoded != nil && c.reading > ReadKeys &&
		(whole || r.cache.worthDecoding(encoded, encoded.DecodedBytes()/seekShare)) {
		if c.reading == ReadValues {
			values, err = r.decode(b, keys, encoded, why)
		} else {
			values, err = r.heads(b, keys, encoded, int(c.reading), why)
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
func (c *Cursor) loadHead(b int, keys *block.Keys, why reason) (loaded bool, err error) {
	if c.reading <= ReadKeys || c.reading == ReadValues {
		return false, nil
	}
	head, err := c.reader.head(b, keys, int(c.reading), why)
	if head == nil || err != nil {
		return false, err
	}
	c.values, c.encoded = *head, nil
	return true, nil
}

// reasonFor returns why parts of a block are read, of which the whole is on the way or not.
func reasonFor(whole bool) reason {
	if whole {
		return passing
	}
	return sought
}
