package stoat

import (
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Cursor moves over the keys of one bucket, in both directions. It stands on a key, before the
// first or after the last. Every method that moves it returns the key and the value that it comes
// to stand on; both are nil if it ran off an end, from where it can come back: Prev after the end
// is the last key, and Next before the beginning, where a new cursor stands, is the first.
//
// In a writable transaction First, Last and Seek see all that it wrote before. Next and Prev go on
// in what that call saw: writes made since do not disturb them, and do not appear.
//
// The slices are valid until the transaction ends and must not be modified. A Cursor belongs to its
// transaction, and is no safer for concurrent use.
type Cursor struct {
	in     space // by value, as in walk
	cursor superversion.Cursor
	values superversion.Scratch       // those that were decoded one by one
	snap   *superversion.Superversion // what cursor moves over; nil before the first move
	place  place
	err    error
}

// place says where a [Cursor] stands.
type place uint8

const (
	beforeFirst place = iota
	onKey
	afterLast
)

// Cursor returns a cursor over the keys of this bucket. It needs no closing.
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

// Seek moves to the first key that is not below key.
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

// Prev moves to the key before.
func (c *Cursor) Prev() (key, value []byte) {
	switch {
	case !c.resume() || c.place == beforeFirst:
		return nil, nil
	case c.place == afterLast:
		return c.arrive(c.cursor.Last(), beforeFirst)
	}
	return c.arrive(c.cursor.Prev(), beforeFirst)
}

// Expires returns when the key that the cursor stands on expires: the zero time if it does not, and
// when the cursor stands on none. For a copy that expires with it, pass time.Until of that to
// [Tx.PutTTL].
func (c *Cursor) Expires() time.Time {
	if !c.usable() || c.place != onKey || c.cursor.Until() == 0 {
		return time.Time{}
	}
	return expiry(c.cursor.Until())
}

// Delete removes the key that the cursor stands on, as [Bucket.Delete] does; the error is
// [ErrNotFound] if it stands on none. The cursor stays where it is: Next goes to the key behind the
// deleted one and Prev to the key before, in what the last First, Last or Seek saw. In that the
// key still is, as with every other write.
func (c *Cursor) Delete() error {
	if err := c.in.checkWrite(); err != nil {
		return err
	}
	if c.place != onKey {
		return fmt.Errorf("the cursor stands on no key: %w", ErrNotFound)
	}
	s := c.in.session
	s.scratch = append(s.scratch[:0], c.cursor.Key()...)
	return s.delete(s.scratch)
}

// Err returns the first error that the cursor met. After one it moves no more.
func (c *Cursor) Err() error { return c.err }

// refresh makes the cursor move over what the transaction sees now.
func (c *Cursor) refresh() bool {
	if !c.usable() {
		return false
	}
	if snap := c.in.session.snapshot(); snap != c.snap {
		prefix := c.in.prefix[:c.in.prefixBytes]
		c.cursor.Init(snap, prefix, keyspace.Successor(prefix), superversion.Values,
			&c.values)
		c.snap = snap
	}
	return true
}

// resume prepares a move within what the cursor moves over.
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

// arrive records where a move has led, to the given end if not to a key, and returns what is there.
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
