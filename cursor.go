package stoat

import (
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Cursor moves over the keys of one bucket, in both directions. It is on a key, before the first or
// after the last. Every method that moves it returns the new key and value, or nil and nil if the
// cursor ran off an end. From there it can return: Prev after the end moves to the last key, and
// Next before the beginning, where a new cursor starts, to the first.
//
// In a writable transaction, First, Last and Seek see all earlier writes of the transaction. Next
// and Prev continue over the state that call saw: later writes neither disturb them nor appear.
//
// The slices are valid until the transaction ends and must not be modified. A Cursor belongs to its
// transaction and is not safe for concurrent use either.
type Cursor struct {
	in     space // by value, as in walk
	cursor superversion.Cursor
	values superversion.Scratch       // memory of values that were decoded one by one
	snap   *superversion.Superversion // what cursor moves over; nil before the first move
	place  place
	err    error
}

// place is the position of a [Cursor] relative to the keys.
type place uint8

const (
	beforeFirst place = iota
	onKey
	afterLast
)

// Cursor returns a cursor over the keys of this bucket. It need not be closed.
func (s *space) Cursor() *Cursor { return &Cursor{in: *s} }

// First moves to the first key.
func (c *Cursor) First() (key, value []byte) {
	if !c.refresh() {
		return nil, nil
	}
	return c.arrive(c.cursor.First(), afterLast)
}

// Last moves to the last key.
func (c *Cursor) Last() (key, value []byte) {
	if !c.refresh() {
		return nil, nil
	}
	return c.arrive(c.cursor.Last(), beforeFirst)
}

// Seek moves to the first key that is greater than or equal to key.
func (c *Cursor) Seek(key []byte) (found, value []byte) {
	if !c.refresh() {
		return nil, nil
	}
	return c.arrive(c.cursor.Seek(c.in.key(key)), afterLast)
}

// Next moves to the next key.
func (c *Cursor) Next() (key, value []byte) {
	switch {
	case !c.resume() || c.place == afterLast:
		return nil, nil
	case c.place == beforeFirst:
		return c.arrive(c.cursor.First(), afterLast)
	}
	return c.arrive(c.cursor.Next(), afterLast)
}

// Prev moves to the previous key.
func (c *Cursor) Prev() (key, value []byte) {
	switch {
	case !c.resume() || c.place == beforeFirst:
		return nil, nil
	case c.place == afterLast:
		return c.arrive(c.cursor.Last(), beforeFirst)
	}
	return c.arrive(c.cursor.Prev(), beforeFirst)
}

// Expires returns when the current key expires, or the zero time if it does not expire or the
// cursor is not on a key. To make a copy that expires at the same moment, pass it to [Tx.PutUntil].
func (c *Cursor) Expires() time.Time {
	if !c.usable() || c.place != onKey || c.cursor.Until() == 0 {
		return time.Time{}
	}
	return expiry(c.cursor.Until())
}

// Delete removes the current key, as [Bucket.Delete] does; the error is [ErrNotFound] if the cursor
// is not on a key. The cursor does not move: Next goes to the following key and Prev to the
// preceding one, in the state that the last First, Last or Seek saw. As with any other write, that
// state still contains the deleted key.
func (c *Cursor) Delete() error {
	if err := c.in.checkWrite(); err != nil {
		return err
	}
	if c.place != onKey {
		return fmt.Errorf("the cursor is not on a key: %w", ErrNotFound)
	}
	s := c.in.session
	s.scratch = append(s.scratch[:0], c.cursor.Key()...)
	return s.delete(s.scratch)
}

// Err returns the first error that the cursor met. After an error it no longer moves.
func (c *Cursor) Err() error { return c.err }

// refresh points the cursor at what the transaction sees now.
func (c *Cursor) refresh() bool {
	if !c.usable() {
		return false
	}
	if snap := c.in.session.snapshot(); snap != c.snap {
		prefix := c.in.prefix[:c.in.prefixBytes]
		c.cursor.Init(snap, superversion.Scope{
			Lower: prefix, Upper: keyspace.Successor(prefix),
			Read: superversion.ReadValues, Scratch: &c.values,
		})
		c.snap = snap
	}
	return true
}

// resume prepares a move within the current snapshot.
func (c *Cursor) resume() bool {
	if c.snap == nil {
		return c.refresh()
	}
	return c.usable()
}

// usable reports whether the cursor may move.
func (c *Cursor) usable() bool {
	if c.err == nil {
		c.err = c.in.check()
	}
	return c.err == nil
}

// arrive records the outcome of a move, which left the cursor at the given end if not on a key, and
// returns the key and value there.
func (c *Cursor) arrive(ok bool, end place) (key, value []byte) {
	c.in.session.passed(&c.cursor)
	if !ok {
		c.place, c.err = end, c.cursor.Err()
		return nil, nil
	}
	value, err := c.cursor.Value()
	if err != nil {
		c.place, c.err = end, err
		return nil, nil
	}
	c.place = onKey
	return clip(c.cursor.Key()[c.in.prefixBytes:]), clip(value)
}
