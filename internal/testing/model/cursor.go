package model

import "sort"

// Cursor is a place among the entries that a bucket had when the cursor was made. It stands on an
// entry, or before the first or after the last one.
type Cursor struct {
	entries []Entry
	at      int // -1 to len(entries)
}

// Cursor returns a cursor over the bucket's entries as they are now, before the first.
func (b *Bucket) Cursor() *Cursor {
	return &Cursor{entries: b.all(), at: -1}
}

// First moves to the first entry.
func (c *Cursor) First() (e Entry, ok bool) { return c.move(0) }

// Last moves to the last entry.
func (c *Cursor) Last() (e Entry, ok bool) { return c.move(len(c.entries) - 1) }

// Seek moves to the first entry whose key is not below key.
func (c *Cursor) Seek(key string) (e Entry, ok bool) {
	return c.move(sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Key >= key }))
}

// Next moves to the entry after.
func (c *Cursor) Next() (e Entry, ok bool) { return c.move(c.at + 1) }

// Prev moves to the entry before.
func (c *Cursor) Prev() (e Entry, ok bool) { return c.move(c.at - 1) }

// Current returns the entry that the cursor stands on.
func (c *Cursor) Current() (e Entry, ok bool) { return c.move(c.at) }

func (c *Cursor) move(at int) (e Entry, ok bool) {
	c.at = min(max(at, -1), len(c.entries))
	if c.at < 0 || c.at == len(c.entries) {
		return Entry{}, false
	}
	return c.entries[c.at], true
}
