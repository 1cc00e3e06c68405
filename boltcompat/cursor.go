package boltcompat

import (
	"bytes"
	"sort"

	"github.com/stoatdb/stoat"
)

// Cursor moves over the keys and the nested buckets of one bucket, in both directions; a nested
// bucket has the value nil. A method that moves it returns nil at an end.
//
// As in bbolt, a cursor that runs off an end stays on the last or the first key: Prev after the end
// returns the one before the last. Only after a Seek beyond all keys, Prev returns the last one. A
// new cursor does not move by Next or Prev.
//
// First, Last and Seek see all earlier writes of the transaction. Next and Prev go on in the state
// that this call saw, and after [Cursor.Delete] they skip nothing.
type Cursor struct {
	bucket *Bucket
	keys   *stoat.Cursor // on the current key or, on a bucket, on the first key after it
	names  [][]byte      // of the nested buckets
	key    item          // where keys is; none at its ends
	at     item
	beyond bool // behind the last key, where only Seek leads
}

// item is a key or a nested bucket that a [Cursor] is on. The zero item is none.
type item struct {
	key, value []byte
	bucket     bool
}

// Bucket returns the bucket of the cursor.
func (c *Cursor) Bucket() *Bucket { return c.bucket }

// First moves to the first key.
func (c *Cursor) First() (key []byte, value []byte) {
	c.look()
	return c.enter(c.forward(c.found(c.keys.First()), 0))
}

// Last moves to the last key.
func (c *Cursor) Last() (key []byte, value []byte) {
	c.look()
	return c.enter(c.backward(c.found(c.keys.Last()), len(c.names)))
}

// Seek moves to the first key that is not less than seek.
func (c *Cursor) Seek(seek []byte) (key []byte, value []byte) {
	c.look()
	next := c.forward(c.found(c.keys.Seek(seek)), c.nameFrom(seek))
	c.beyond = next.key == nil
	return c.enter(next)
}

// Next moves to the next key.
func (c *Cursor) Next() (key []byte, value []byte) {
	assert(c.bucket.tx.db != nil, "tx closed")
	if c.at.key == nil {
		return nil, nil
	}
	if len(c.names) == 0 {
		return c.nextKey()
	}
	i := c.nameFrom(c.at.key)
	if c.at.bucket {
		i++
	}
	k := c.key
	if !c.at.bucket {
		k = c.found(c.keys.Next())
	}
	next := c.forward(k, i)
	if next.key == nil && !c.at.bucket {
		c.found(c.keys.Prev()) // stay on the last key
	}
	return c.move(next)
}

// nextKey is Next in a bucket without nested ones.
func (c *Cursor) nextKey() (key, value []byte) {
	key, value = c.keys.Next()
	if key == nil || value == nil {
		k := c.found(key, value)
		if key == nil {
			c.found(c.keys.Prev()) // stay on the last key
		}
		return k.key, k.value
	}
	c.at.key = key
	return key, value
}

// Prev moves to the previous key.
func (c *Cursor) Prev() (key []byte, value []byte) {
	assert(c.bucket.tx.db != nil, "tx closed")
	if c.beyond {
		return c.Last()
	} else if c.at.key == nil {
		return nil, nil
	}
	next := c.backward(c.found(c.keys.Prev()), c.nameFrom(c.at.key))
	if next.key == nil {
		c.found(c.keys.Next()) // stay on the first key, or before the bucket that comes first
	}
	return c.move(next)
}

// Delete removes the current key. The error is [ErrIncompatibleValue] on a nested bucket. The
// cursor does not move.
func (c *Cursor) Delete() error {
	if err := c.bucket.checkWrite(); err != nil {
		return err
	}
	if c.at.bucket {
		return ErrIncompatibleValue
	}
	return c.bucket.Delete(c.at.key)
}

// look prepares a move over the present state of the bucket.
func (c *Cursor) look() {
	assert(c.bucket.tx.db != nil, "tx closed")
	if c.keys == nil {
		c.keys = c.bucket.space.Cursor()
	}
	c.names = c.bucket.list()
	c.at, c.beyond = item{}, false
}

// nameFrom returns the position of the first name that is not less than key.
func (c *Cursor) nameFrom(key []byte) int {
	return sort.Search(len(c.names), func(i int) bool { return bytes.Compare(c.names[i], key) >= 0 })
}

// forward returns the first of k, where the keys' cursor is, and the nested bucket i.
func (c *Cursor) forward(k item, i int) item {
	if i < len(c.names) && (k.key == nil || bytes.Compare(c.names[i], k.key) < 0) {
		return item{key: c.names[i], bucket: true}
	}
	return k
}

// backward returns the last of k, where the keys' cursor is, and the nested bucket before i. If
// that is the bucket, the keys' cursor moves behind it.
func (c *Cursor) backward(k item, i int) item {
	if i > 0 && (k.key == nil || bytes.Compare(c.names[i-1], k.key) > 0) {
		c.found(c.keys.Next())
		return item{key: c.names[i-1], bucket: true}
	}
	return k
}

// found returns the key and value that the keys' cursor moved to. It panics if it could not read
// them.
func (c *Cursor) found(key, value []byte) item {
	if err := c.keys.Err(); err != nil && !absent(err) {
		panic(failure{err})
	}
	if key != nil && value == nil {
		value = []byte{}
	}
	c.key = item{key: key, value: value}
	return c.key
}

// enter makes next the current item, even if there is none.
func (c *Cursor) enter(next item) (key, value []byte) {
	c.at = next
	return next.key, next.value
}

// move makes next the current item if there is one.
func (c *Cursor) move(next item) (key, value []byte) {
	if next.key != nil {
		c.at = next
	}
	return next.key, next.value
}
