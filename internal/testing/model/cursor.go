package model

import "sort"

// Cursor is a position among the entries that a bucket had when the cursor was made: on an entry,
// before the first, or after the last.
type Cursor struct {
	entries []Entry
	at      int // -1 to len(entries)
}

// Cursor returns a cursor over the bucket's current entries, before the first.
func (b *Bucket) Cursor() *Cursor {
	return &Cursor{entries: b.all(), at: -1}
}

// First moves to the first entry.
func (c *Cursor) First() (e Entry, ok bool) { return c.move(0) }

// Last moves to the last entry.
func (c *Cursor) Last() (e Entry, ok bool) { return c.move(len(c.entries) - 1) }

// Seek moves to the first entry whose key is at least key.
func (c *Cursor) Seek(key string) (e Entry, ok bool) {
	return c.move(sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Key >= key }))
}

// Next moves to the next entry.
func (c *Cursor) Next() (e Entry, ok bool) { return c.move(c.at + 1) }

// Prev moves to the previous entry.
func (c *Cursor) Prev() (e Entry, ok bool) { return c.move(c.at - 1) }

// Current returns the entry at the cursor.
func (c *Cursor) Current() (e Entry, ok bool) { return c.move(c.at) }

func (c *Cursor) move(at int) (e Entry, ok bool) {
	c.at = min(max(at, -1), len(c.entries))
	if c.at < 0 || c.at == len(c.entries) {
		return Entry{}, false
	}
	return c.entries[c.at], true
}
